"""NUL and lone surrogates, which are no valid text, are refused by every route that accepts text, and make no route
fail.

REST routes, with their parameters and bodies, come from the OpenAPI document, and routes of pages from the application.
So a new route is tested automatically.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
from fastapi.dependencies.models import Dependant
from fastapi.routing import iter_route_contexts

from coordinator.app import create_app
from coordinator.configuration.settings import Settings
from tests.acceptance.web.visitor import form_token
from tests.admin import ADMIN_TOKEN, AS_ADMIN
from tests.coordinator_process import CoordinatorProcess
from tests.faults.access.raw_http import connect, whole
from tests.faults.access.test_bounds_connections import Serve
from tests.faults.registration.listing_runner import ListingRunner, cases

APP = create_app(Settings("postgresql://nobody@127.0.0.1:1/none"))
DOCUMENT: dict[str, Any] = APP.openapi()
NUL, SURROGATE = ("%00", "a%00b"), ("%ED%A0%80", "a%ED%BF%BFb", "%FF%FE")
IN_JSON = ("\0", "a\0b", "\ud800", "a\udfffb")
IN_HEADERS = (b"\xed\xa0\x80", b"Bearer portolan_\xff; portolan_form=\xff")
HEADERS = (
    *("Accept", "Authorization", "Content-Type", "Cookie", "If-Modified-Since", "If-None-Match", "If-Range"),
    *("Last-Event-ID", "Origin", "Range", "Referer", "Sec-Fetch-Dest", "Sec-Fetch-Mode", "Sec-Fetch-Site"),
    *("User-Agent", "X-Forwarded-For", "X-Forwarded-Proto", "X-Request-ID"),
)
KNOWN = {"a": "1", "b": "1", "target": "listed/cpu", "case": "listed.one/0", "framework": "listed"}
"""Values that exist, so that a request is refused only for the invalid text."""
UNKNOWN = "no_such_field"
BODIES = {
    "TokenRequest": {"name": "ada", "role": "viewer"},
    "Enrolment": {"name": "a", "url": "http://a", "secret": "s"},
}


@dataclass(frozen=True)
class Hostile:
    """One request with one value that is no valid text."""

    method: str
    path: str
    refused: bool
    """Whether the request must be refused. A surrogate in an address is read as U+FFFD, which is valid text."""
    content: bytes = b""
    media: str = ""
    form: Mapping[str, str] = field(default_factory=dict)


def resolve(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema without references. Of several alternatives it is the first, because null is always the last."""
    while "$ref" in schema or "anyOf" in schema:
        reference = schema.get("$ref", "").rpartition("/")[2]
        schema = DOCUMENT["components"]["schemas"][reference] if reference else schema["anyOf"][0]
    return dict(schema)


def example(schema: Mapping[str, Any]) -> Any:
    """The smallest value that has every member of the schema."""
    whole_schema = resolve(schema)
    if "enum" in whole_schema:
        return whole_schema["enum"][0]
    match whole_schema.get("type"):
        case "object":
            return {name: example(member) for name, member in whole_schema.get("properties", {}).items()}
        case "array":
            return [example(whole_schema["items"])]
        case "integer" | "number":
            return 1
        case "boolean":
            return True
    return "x"


def spoil(value: Any, text: str) -> Iterator[Any]:
    """Yield the value with this text in place of each of its texts in turn, and as a key in each of its objects."""
    if isinstance(value, str):
        yield text
    for key, member in list(enumerate(value) if isinstance(value, list) else getattr(value, "items", list)()):
        for worse in spoil(member, text):
            spoiled_copy = copy.copy(value)
            spoiled_copy[key] = worse
            yield spoiled_copy
    if isinstance(value, dict):
        yield {**value, text: "x"}


def address(path: str, values: Mapping[str, str]) -> str:
    for name, value in values.items():
        path = path.replace(f"{{{name}}}", value).replace(f"{{{name}:int}}", value)
    return path


def in_addresses(
    method: str, path: str, places: list[tuple[str, str, bool]], required_parameters: Mapping[str, str]
) -> Iterator[Hostile]:
    """Each parameter in turn: its location, its name, and whether it is a text."""
    inside = {name: KNOWN.get(name, "x") if is_text else "1" for where, name, is_text in places if where == "path"}
    for where, name, is_text in places:
        for text in (*NUL, *SURROGATE):
            is_refused = text in NUL or not is_text
            if where == "path":
                yield Hostile(method, address(path, {**inside, name: text}), is_refused)
            else:
                query = "&".join(f"{key}={value}" for key, value in {**required_parameters, name: text}.items())
                yield Hostile(method, f"{address(path, inside)}?{query}", is_refused)


def of_document() -> Iterator[Hostile]:
    for path, operations in DOCUMENT["paths"].items():
        for method, operation in operations.items():
            parameter_list = operation.get("parameters", [])
            schemas = {parameter["name"]: resolve(parameter["schema"]) for parameter in parameter_list}
            places = [
                (parameter["in"], parameter["name"], schemas[parameter["name"]].get("type") == "string")
                for parameter in parameter_list
            ]
            required_names = (
                parameter["name"]
                for parameter in parameter_list
                if parameter["in"] == "query" and parameter.get("required")
            )
            yield from in_addresses(method, path, places, {name: KNOWN.get(name, "x") for name in required_names})
            inside = {name: "1" for where, name, _ in places if where == "path"}
            for media, body in operation.get("requestBody", {}).get("content", {}).items():
                name = body["schema"].get("$ref", "").rpartition("/")[2]
                for text in IN_JSON:
                    for value in spoil({**example(body["schema"]), **BODIES.get(name, {})} if name else "x", text):
                        content = json.dumps(value).encode()
                        yield Hostile(method, address(path, inside), True, content, media)


def of_pages() -> Iterator[Hostile]:
    for route in iter_route_contexts(APP.routes):
        dependant = getattr(route, "dependant", None)
        if dependant is None or route.path in DOCUMENT["paths"] or str(route.path).startswith("/api/"):
            continue
        parameter_list = list(parameters(dependant))
        places = [(where, name, "str" in str(kind)) for where, name, kind in parameter_list if where != "form"]
        fields = [name for where, name, _ in parameter_list if where == "form"]
        for method in route.methods or ():
            yield from in_addresses(method, str(route.path), places, {})
            inside = {name: KNOWN.get(name, "1") for where, name, _ in places if where == "path"}
            for name in (*fields, "form_token", UNKNOWN) if method == "POST" else ():
                for text in (*NUL, *SURROGATE):
                    is_refused = text in NUL and name != UNKNOWN
                    yield Hostile(method, address(str(route.path), inside), is_refused, form={name: text})
            for name in ("as", UNKNOWN):
                yield Hostile(method, f"{address(str(route.path), inside)}?{name}=%00%ED%A0%80", False)


def parameters(dependant: Dependant) -> Iterator[tuple[str, str, Any]]:
    for where, parameter_group in (
        ("path", dependant.path_params),
        ("query", dependant.query_params),
        ("form", dependant.body_params),
    ):
        for parameter in parameter_group:
            yield where, parameter.alias, parameter.field_info.annotation
    for dependency in dependant.dependencies:
        yield from parameters(dependency)


@pytest.fixture(scope="module")
def coordinator(new_database: Callable[..., str]) -> Iterator[CoordinatorProcess]:
    """A coordinator with a finished campaign, number 1, so that no request is refused for its campaign number."""
    coordinator = Serve(new_database())
    runner = ListingRunner(cases("listed.one"), "listed")
    assert coordinator.register(runner.url, "").json()["id"] == 1
    assert coordinator.submit("*", suite="paper") == 1
    coordinator.wait_ended(1)
    yield coordinator
    coordinator.stop()
    runner.stop()


def complaint(answer: httpx.Response, request: Hostile) -> str | None:
    """A description of the error in the response; None if there is none."""
    description = f"{request.method} {request.path} {request.form or request.content[:200]!r}: {answer.status_code}"
    if answer.status_code >= 500 or (request.refused and answer.status_code < 400):
        return f"{description} {answer.text[:200]}"
    # A form that is wrong comes back as a page, with a sentence beside the field; a link to sign in leads to one.
    is_form = request.path.startswith("/login") or (request.method == "POST" and not request.path.startswith("/api/"))
    kinds = ("application/problem+json", *(["text/html; charset=utf-8"] if is_form else []))
    if answer.status_code >= 400 and answer.headers["content-type"] not in kinds:
        return f"{description} {answer.headers['content-type']}"
    return None


def test_the_document_and_the_pages_are_all_there() -> None:
    """The tests below cover all routes that accept text."""
    requests = [*of_document(), *of_pages()]
    assert len(requests) > 500
    assert {"/api/v1/audit", "/api/v1/compare", "/audit", "/login"} <= {
        request.path.partition("?")[0] for request in requests
    }
    assert sum(bool(request.content) for request in requests) > 80


def test_rest_refuses_what_is_no_text(coordinator: CoordinatorProcess) -> None:
    faults = []
    for request in of_document():
        headers = {"Content-Type": request.media} if request.media else {}
        answer = coordinator.http.request(
            request.method, f"{coordinator.url}{request.path}", content=request.content, headers=headers
        )
        faults.append(complaint(answer, request))
    assert not list(filter(None, faults))


def test_pages_refuse_what_is_no_text(coordinator: CoordinatorProcess) -> None:
    faults = []
    with httpx.Client(base_url=coordinator.url, headers=AS_ADMIN, timeout=120.0) as reader:
        own = form_token(reader)
        for request in of_pages():
            content = "&".join(f"{name}={value}" for name, value in {"form_token": own, **request.form}.items())
            is_form = request.method == "POST"
            answer = reader.request(
                request.method,
                request.path,
                content=content if is_form else None,
                headers={"Content-Type": "application/x-www-form-urlencoded"} if is_form else {},
            )
            faults.append(complaint(answer, request))
    assert not list(filter(None, faults))


def test_no_header_that_is_no_text_makes_a_route_fail(coordinator: CoordinatorProcess) -> None:
    """The campaigns in the requests do not exist, so nothing is changed. The last two routes read headers
    themselves."""
    routes = {
        (method, address(str(route.path), {name: "999999" for _, name, _ in parameters(dependant)}))
        for route in iter_route_contexts(APP.routes)
        if (dependant := getattr(route, "dependant", None)) is not None
        for method in route.methods or ()
    }
    assert len(routes) > 60
    routes |= {("GET", "/static/portolan.css"), ("GET", "/api/v1/campaigns/1/outcomes?format=csv")}
    faults = []
    for method, path in sorted(routes):
        for name in HEADERS:
            for value in IN_HEADERS:
                headers = {"Authorization": f"Bearer {ADMIN_TOKEN}".encode(), name: value}
                lines = b"".join(key.encode() + b": " + text + b"\r\n" for key, text in headers.items())
                request = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n".encode() + lines
                with connect(coordinator.port, request + b"\r\n") as connection:
                    answer, _ = whole(connection)
                kind = answer.headers.get("content-type")
                if answer.status >= 500 or (answer.status >= 400 and kind != "application/problem+json"):
                    faults.append(f"{method} {path} {name}: {value!r}: {answer.status} {kind}")
    assert not faults


@pytest.mark.parametrize(
    "request_line", [b"GET /healthz\0 HTTP/1.1", b"GET /\xed\xa0\x80 HTTP/1.1", b"G\0T /healthz HTTP/1.1", b"\0"]
)
def test_a_request_line_that_is_no_text(coordinator: CoordinatorProcess, request_line: bytes) -> None:
    refuses_with_a_problem(coordinator, request_line + b"\r\nHost: 127.0.0.1\r\n\r\n")


@pytest.mark.parametrize("name", [*HEADERS, "Host", "Content-Length", "Transfer-Encoding", "X-\0"])
def test_a_header_with_nul(coordinator: CoordinatorProcess, name: str) -> None:
    request = f"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n{name}: a\0b\r\n\r\n"
    refuses_with_a_problem(coordinator, request.encode())


def refuses_with_a_problem(coordinator: CoordinatorProcess, request: bytes) -> None:
    with connect(coordinator.port, request) as connection:
        answer, body = whole(connection)
    assert (answer.status, answer.headers["content-type"]) == (400, "application/problem+json")
    assert "HTTP does not allow" in json.loads(body)["detail"]
