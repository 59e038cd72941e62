"""RFC 9457 problem details: the body of every error over HTTP, on both sides."""

from typing import Any

from pydantic import BaseModel, ConfigDict

PROBLEM_JSON = "application/problem+json"


class Problem(BaseModel):
    """``detail`` says what is wrong and what to do; further members may follow (RFC 9457 §3.2)."""

    model_config = ConfigDict(extra="allow")

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    errors: list[dict[str, Any]] | None = None
