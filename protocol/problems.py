"""RFC 9457 problem details: the body of every HTTP error of coordinator and runner, and its OpenAPI description."""

from http import HTTPStatus
from typing import Any

from pydantic import BaseModel, ConfigDict

PROBLEM_JSON = "application/problem+json"


class Problem(BaseModel):
    """The members of RFC 9457. ``detail`` says what is wrong and what to do. A problem may have further members
    (§3.2)."""

    model_config = ConfigDict(extra="allow")

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    errors: list[dict[str, Any]] | None = None


def problem_responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The ``responses`` of a route or router whose body is a problem for these statuses."""
    content = {PROBLEM_JSON: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {status: {"description": HTTPStatus(status).phrase, "content": content} for status in statuses}


def describe_problems(document: dict[str, Any]) -> None:
    """Add the schema of problems to an OpenAPI document that uses ``problem_responses``."""
    document.setdefault("components", {}).setdefault("schemas", {})["Problem"] = Problem.model_json_schema()
