"""Request bodies with too many bytes, levels or members, or that arrive too slowly, are refused before they are read.
The message names the limit."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator

import pytest

from tests.admin import ADMIN_TOKEN
from tests.coordinator_process import CoordinatorProcess
from tests.faults.access.raw_http import connect, get, post, whole

CAMPAIGNS = "/api/v1/campaigns"
BUNDLES = "/api/v1/bundles?unsigned=true"
NEW = "/campaigns/new"
JSON, NDJSON, FORM = "application/json", "application/x-ndjson", "application/x-www-form-urlencoded"
ADMIN = f"Authorization: Bearer {ADMIN_TOKEN}"
MIB = 1 << 20
SLOWEST_S = 5


@pytest.fixture(scope="module")
def coordinator(new_database: Callable[..., str]) -> Iterator[CoordinatorProcess]:
    coordinator = CoordinatorProcess(
        new_database(), PORTOLAN_LIMITS=f"body_seconds={SLOWEST_S}, bundle_seconds={SLOWEST_S}"
    )
    yield coordinator
    coordinator.stop()


def problem_of(coordinator: CoordinatorProcess, request: bytes) -> tuple[int, str]:
    """The status of a response, and the ``detail`` of its problem."""
    with contextlib.closing(connect(coordinator.port, request)) as connection:
        head, body = whole(connection)
    assert head.headers["content-type"] == "application/problem+json", body
    return head.status, json.loads(body)["detail"]


def test_a_body_that_is_declared_too_large_is_not_read(coordinator: CoordinatorProcess) -> None:
    status, detail = problem_of(coordinator, post(CAMPAIGNS, b"", ADMIN, f"Content-Length: {MIB + 1}"))
    assert status == 413
    assert f"{MIB:,} bytes" in detail


def test_a_body_in_chunks_is_counted(coordinator: CoordinatorProcess) -> None:
    chunk = b"10000\r\n" + b" " * 65536 + b"\r\n"
    status, detail = problem_of(coordinator, post(CAMPAIGNS, chunk * 17, ADMIN, "Transfer-Encoding: chunked"))
    assert status == 413
    assert f"{MIB:,} bytes" in detail


@pytest.mark.parametrize("path", [CAMPAIGNS, "/api/v1/runners", "/api/v1/runners/enrol"])
@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"[" * 60_000, "nested more than 32 levels deep"),
        (b'{"a":' * 12_000, "nested more than 32 levels deep"),
        (b"[" + b"0," * 30_000 + b"0]", "more than 20,000 members"),
        (b'{"name":"\\"' + b'\\"[' * 50 + b'", "x":' + b"[" * 33, "nested more than 32 levels deep"),
    ],
    ids=["lists", "objects", "members", "after quotes"],
)
def test_json_of_a_hostile_shape(coordinator: CoordinatorProcess, path: str, body: bytes, message: str) -> None:
    status, detail = problem_of(coordinator, post(path, body, ADMIN))
    assert status == 422
    assert message in detail


@pytest.mark.parametrize(("path", "kind"), [("/api/v1/runners/enrol", "application/json"), ("/login", FORM)])
def test_a_strangers_body_is_small(coordinator: CoordinatorProcess, path: str, kind: str) -> None:
    status, detail = problem_of(coordinator, post(path, b" " * 65_537, kind=kind))
    assert status == 413
    assert "65,536 bytes" in detail


def test_brackets_in_texts_are_texts(coordinator: CoordinatorProcess) -> None:
    body = json.dumps({"name": '[{"\\' * 40, "suite": "none"}).encode()
    assert "no suite 'none'" in problem_of(coordinator, post(CAMPAIGNS, body, ADMIN))[1]


@pytest.mark.parametrize(
    "kind", [FORM, FORM.upper(), f"{FORM};\r\nContent-Type: text/plain"], ids=["usual", "capitals", "two types"]
)
def test_a_form_of_very_many_fields(coordinator: CoordinatorProcess, kind: str) -> None:
    """This holds however the form's content type is written, if the application reads it as a form."""
    request = post(NEW, b"targets=a&" * 50_000, ADMIN, kind=kind)
    status, detail = problem_of(coordinator, request)
    assert status == 422
    assert "20,000 fields" in detail


def test_brackets_in_a_form_are_texts(coordinator: CoordinatorProcess) -> None:
    """The form is refused because the token of its page is missing, and not because of JSON limits."""
    status, detail = problem_of(coordinator, post(NEW, b"functions=" + b"[" * 100, ADMIN, kind=FORM))
    assert status == 403
    assert "JSON" not in detail


@pytest.mark.parametrize(("path", "kind"), [(CAMPAIGNS, JSON), (BUNDLES, NDJSON), (NEW, FORM)])
def test_a_body_that_never_comes(coordinator: CoordinatorProcess, path: str, kind: str) -> None:
    status, detail = problem_of(coordinator, post(path, b"{", ADMIN, "Content-Length: 100", kind=kind))
    assert status == 408
    assert f"{SLOWEST_S} s" in detail


def test_a_connection_goes_on_after_a_body_that_was_too_large(coordinator: CoordinatorProcess) -> None:
    """The rest of the body is discarded, and the next request is answered."""
    request = post(CAMPAIGNS, b" " * (MIB + 1), ADMIN) + get(CAMPAIGNS, ADMIN)
    with contextlib.closing(connect(coordinator.port, request)) as connection:
        assert whole(connection)[0].status == 413
        assert whole(connection)[0].status == 200
