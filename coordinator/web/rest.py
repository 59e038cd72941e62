"""The page that describes the calls of the REST API. It loads nothing from other sites."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from fastapi import Request, Response

from coordinator.http.routers import PageRouter
from coordinator.web.pages import page

router = PageRouter()


@dataclass(frozen=True, slots=True)
class Parameter:
    name: str
    where: str
    """The part of the request to which the parameter belongs: the path, the query, or the body."""
    required: bool
    said: str


@dataclass(frozen=True, slots=True)
class RestCall:
    tag: str
    method: str
    path: str
    said: str
    parameters: tuple[Parameter, ...]

    @property
    def id(self) -> str:
        return f"{self.method}{self.path}".replace("/", "-").replace("{", "").replace("}", "")


@router.get("/docs")
async def docs(request: Request) -> Response:
    return page(request, "rest.html", groups(request.app.openapi()))


def groups(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The calls of an OpenAPI description, grouped by subject."""
    calls = sorted(_calls(document), key=lambda call: call.tag)
    return [{"tag": tag, "calls": list(of_it)} for tag, of_it in groupby(calls, key=lambda call: call.tag)]


def _calls(document: Mapping[str, Any]) -> Iterator[RestCall]:
    for path, methods in document["paths"].items():
        for method, call in methods.items():
            yield RestCall(
                tag=(call.get("tags") or ["other"])[0],
                method=method.upper(),
                path=path,
                said=call.get("description") or call.get("summary") or "",
                parameters=(*_parameters(call), *_body(document, call)),
            )


def _parameters(call: Mapping[str, Any]) -> Iterator[Parameter]:
    for parameter in call.get("parameters", ()):
        meaning = parameter.get("description") or parameter["schema"].get("description") or ""
        yield Parameter(parameter["name"], parameter["in"], bool(parameter.get("required")), meaning)


def _body(document: Mapping[str, Any], call: Mapping[str, Any]) -> Iterator[Parameter]:
    """The members of a JSON body, if it has its own model."""
    content = call.get("requestBody", {}).get("content", {})
    reference = content.get("application/json", {}).get("schema", {}).get("$ref", "")
    model = document.get("components", {}).get("schemas", {}).get(reference.rpartition("/")[2], {})
    for name, member in model.get("properties", {}).items():
        yield Parameter(name, "body", name in model.get("required", ()), member.get("description", ""))
