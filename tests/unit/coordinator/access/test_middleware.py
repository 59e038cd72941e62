"""All requests pass through access control in one place. A change without a caller is refused there, and relevant
requests are recorded."""

from __future__ import annotations

from typing import Any, cast

import pytest
from fastapi import FastAPI
from sqlalchemy.ext.asyncio import AsyncEngine
from structlog.testing import capture_logs

from coordinator.access.audit import AuditWriter
from coordinator.access.caller import NOBODY, Caller
from coordinator.access.identifier import AdminToken, Identifier
from coordinator.access.middleware import LOGIN, OPEN, AccessMiddleware
from coordinator.access.roles import Role
from coordinator.access.tokens import digest
from coordinator.http import problems

NO_DATABASE = cast(AsyncEngine, None)
"""The stored tokens. The file's token is not among them, nor is a missing token."""
SECRET = "the secret of the file"
SIGNED_IN = [(b"authorization", f"Bearer {SECRET}".encode())]
CHANGE, READ = "/api/v1/campaigns", "/api/v1/campaigns/1"

Entries = list[dict[str, Any]]


class Application:
    """An application that responds with one status and a location, and stores the callers."""

    def __init__(self, status: int = 200) -> None:
        self.status = status
        self.callers: list[Caller] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.callers.append(scope["state"]["caller"])
        headers = [(b"content-type", b"text/plain"), (b"location", b"/campaigns/7"), (b"x-last", b"1")]
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": b""})


async def ask(
    application: Application,
    method: str,
    path: str,
    *,
    headers: list[tuple[bytes, bytes]] | None = None,
    anonymous: Role | None = Role.viewer,
) -> tuple[int, Entries]:
    """The status of the response, and the recorded entries."""
    api = FastAPI()
    problems.install(api, page=lambda request, problem: None)
    writer = AuditWriter(NO_DATABASE)
    api.state.audit = writer
    api.state.identifier = Identifier(NO_DATABASE, AdminToken("file", digest(SECRET)), anonymous, writer.note_use)
    statuses: list[int] = []

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    async def receive() -> Any:
        return {"type": "http.request", "body": b""}

    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "query_string": b"",
        "headers": headers or [],
        "client": ("192.0.2.9", 1),
        "app": api,
    }
    with capture_logs() as logs:
        await AccessMiddleware(application)(scope, receive, send)
    (status,) = statuses
    return status, [entry for entry in logs if entry["event"] == "audit"]


async def test_a_change_by_nobody_is_refused_before_the_application_and_recorded() -> None:
    application = Application()
    status, (entry,) = await ask(application, "POST", CHANGE)
    assert (status, application.callers) == (401, [])
    assert (entry["status"], entry["who"], entry["address"]) == (401, "anonymous", "192.0.2.9")


async def test_nobody_may_change_where_nobody_is_admin() -> None:
    application = Application()
    status, (entry,) = await ask(application, "POST", CHANGE, anonymous=Role.admin)
    assert (status, entry["status"]) == (200, 200)
    assert [caller.role for caller in application.callers] == [Role.admin]


async def test_a_change_is_recorded_with_its_caller_its_status_and_where_it_leads() -> None:
    application = Application(status=303)
    status, (entry,) = await ask(application, "POST", CHANGE, headers=SIGNED_IN)
    assert status == 303
    assert (entry["who"], entry["role"], entry["method"], entry["path"]) == ("file", "admin", "POST", CHANGE)
    assert (entry["status"], entry["detail"]) == (303, "/campaigns/7")


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS"])
async def test_what_only_reads_is_not_recorded(method: str) -> None:
    application = Application()
    assert await ask(application, method, READ, headers=SIGNED_IN) == (200, [])
    assert [caller.name for caller in application.callers] == ["file"]


@pytest.mark.parametrize("status", [401, 403])
async def test_a_refused_reader_is_recorded(status: int) -> None:
    answer_status, (entry,) = await ask(Application(status), "GET", READ)
    assert (answer_status, entry["status"]) == (status, status)


@pytest.mark.parametrize("path", [*sorted(OPEN), "/static/style.css"])
async def test_an_open_path_is_nobodys_whoever_asks(path: str) -> None:
    application = Application()
    assert await ask(application, "GET", path, headers=SIGNED_IN, anonymous=None) == (200, [])
    assert application.callers == [NOBODY]


async def test_signing_in_by_a_link_is_recorded() -> None:
    _, (entry,) = await ask(Application(status=303), "GET", LOGIN)
    assert entry["status"] == 303
    assert await ask(Application(), "GET", LOGIN) == (200, [])
