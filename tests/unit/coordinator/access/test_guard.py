"""The guard passes on requests (without ranges), refuses requests of other origins, and adds headers to every
response."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI

from coordinator.access.guard import RequestGuard
from coordinator.access.headers import POLICY, RAW
from coordinator.http import problems

NAMES = frozenset({"chart.example"})
OWN_POLICY = (POLICY.lower().encode(), b"default-src 'none'")

Headers = list[tuple[bytes, bytes]]


class Application:
    """An application that responds to everything with its own policy, and stores the headers of requests."""

    def __init__(self) -> None:
        self.asked: list[Headers] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.asked.append(scope.get("headers"))
        headers = [(b"x-own", b"1"), OWN_POLICY, (b"accept-ranges", b"bytes")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b""})


async def ask(application: Application, headers: Headers, kind: str = "http") -> dict[str, Any]:
    """The head of the response."""
    messages: list[dict[str, Any]] = []

    async def send(message: Any) -> None:
        messages.append(message)

    async def receive() -> Any:
        return {"type": "http.request", "body": b""}

    api = FastAPI()
    problems.install(api, page=lambda request, problem: None)
    scope = {
        "type": kind,
        "method": "GET",
        "path": "/api/v1/campaigns",
        "query_string": b"",
        "headers": headers,
        "app": api,
    }
    await RequestGuard(application, NAMES)(scope, receive, send)
    return messages[0]


async def test_a_request_is_handed_on_without_its_ranges() -> None:
    application = Application()
    kept_headers = [(b"host", b"chart.example"), (b"authorization", b"Bearer x")]
    await ask(application, [*kept_headers, (b"range", b"bytes=0-1"), (b"if-range", b"x")])
    assert application.asked == [kept_headers]


async def test_an_answer_has_every_header_and_keeps_those_of_its_own() -> None:
    answer = await ask(Application(), [(b"host", b"chart.example")])
    others = [header for header in RAW if header[0] != OWN_POLICY[0]]
    assert answer["headers"] == [(b"x-own", b"1"), OWN_POLICY, *others]


async def test_what_is_refused_never_reaches_the_application() -> None:
    application = Application()
    answer = await ask(application, [(b"host", b"evil.example")])
    assert application.asked == []
    assert answer["status"] == 421
    assert set(RAW) <= set(answer["headers"])


async def test_what_is_no_request_passes_untouched() -> None:
    application = Application()
    headers = [(b"host", b"evil.example"), (b"range", b"bytes=0-1")]
    answer = await ask(application, headers, kind="lifespan")
    assert application.asked == [headers]
    assert (b"accept-ranges", b"bytes") in answer["headers"]
