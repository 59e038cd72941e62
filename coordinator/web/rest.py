"""What the coordinator can be asked over REST, as a page that needs nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from fastapi import APIRouter, Request, Response

from coordinator.web.pages import page

router = APIRouter()


@dataclass(frozen=True, slots=True)
class Parameter:
    name: str
    where: str
    """In the path, the query, or the body."""
    required: bool
    said: str


@dataclass(frozen=True, slots=True)
class Call:
    tag: str
    method: str
    path: str
    said: str
    parameters: tuple[Parameter, ...]

    @property
    def id(self) -> str:
        return f"{self.method}{self.path}".replace("/", "-").replace("{", "").replace("}", "")


@dataclass(frozen=True, slots=True)
class Group:
    tag: str
    calls: tuple[Call, ...]


@router.get("/docs")
async def docs(request: Request) -> Response:
    return page(request, "rest.html", groups(request.app.openapi()))


def groups(described: Mapping[str, Any]) -> list[Group]:
    """The calls of an OpenAPI description, by what they are about."""
    found = sorted(_calls(described), key=lambda each: each.tag)
    return [Group(tag, tuple(calls)) for tag, calls in groupby(found, key=lambda each: each.tag)]


def _calls(described: Mapping[str, Any]) -> Iterator[Call]:
    for path, methods in described["paths"].items():
        for method, call in methods.items():
            yield Call(
                tag=(call.get("tags") or ["other"])[0],
                method=method.upper(),
                path=path,
                said=call.get("description") or call.get("summary") or "",
                parameters=(*_parameters(call), *_body(described, call)),
            )


def _parameters(call: Mapping[str, Any]) -> Iterator[Parameter]:
    for each in call.get("parameters", ()):
        said = each.get("description") or each["schema"].get("description") or ""
        yield Parameter(each["name"], each["in"], bool(each.get("required")), said)


def _body(described: Mapping[str, Any], call: Mapping[str, Any]) -> Iterator[Parameter]:
    """The members of a JSON body that has a model of its own."""
    content = call.get("requestBody", {}).get("content", {})
    reference = content.get("application/json", {}).get("schema", {}).get("$ref", "")
    model = described.get("components", {}).get("schemas", {}).get(reference.rpartition("/")[2], {})
    for name, member in model.get("properties", {}).items():
        yield Parameter(name, "body", name in model.get("required", ()), member.get("description", ""))
