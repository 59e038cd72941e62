"""Values that a database cannot store, and unreadable bodies, are refused with a problem, on pages too."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from tests.coordinator_process import CoordinatorProcess
from tests.runner_process import RunnerProcess

PAST_INTEGER, PAST_BIGINT, ENDLESS = 2**31, 2**63, 10**400
OVERRIDE = {"case": "c", "target": "t/t", "cause": "type", "why": "w"}


@pytest.fixture(scope="module")
def coordinator(new_database: Callable[..., str]) -> Iterator[CoordinatorProcess]:
    coordinator = CoordinatorProcess(new_database())
    yield coordinator
    coordinator.stop()


@pytest.fixture(scope="module")
def runner() -> Iterator[RunnerProcess]:
    runner = RunnerProcess()
    yield runner
    runner.stop()


def is_problem(answer: httpx.Response, *statuses: int) -> bool:
    assert answer.status_code in statuses, (str(answer.request.url)[:200], answer.status_code, answer.text[:500])
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    return problem["status"] == answer.status_code and bool(problem["title"]) and bool(problem["detail"])


@pytest.mark.parametrize("number", [0, -1, PAST_INTEGER, PAST_BIGINT, ENDLESS, "1.5", "%00", "%ED%A0%80"])
@pytest.mark.parametrize(
    "path",
    [
        *("/api/v1/campaigns/{}", "/api/v1/campaigns/{}/outcomes", "/api/v1/campaigns/{}/matrix"),
        *("/api/v1/campaigns/{}/report", "/api/v1/campaigns/{}/overrides", "/api/v1/campaigns/{}/events"),
        *("/api/v1/campaigns?before={}", "/api/v1/campaigns/1/outcomes?after={}", "/api/v1/runners/{}"),
        *("/api/v1/compare?a={}&b={}", "/campaigns/{}", "/campaigns/{}/matrix", "/campaigns/{}/report"),
        *("/campaigns/{}/figures", "/campaigns/1/outcomes/{}", "/campaigns/1/outcomes/{}/log", "/runners/{}"),
        *("/campaigns?before={}", "/campaigns/new?rerun={}"),
    ],
)
def test_a_number_that_is_no_id(coordinator: CoordinatorProcess, path: str, number: object) -> None:
    address = f"http://127.0.0.1:{coordinator.port}{path.replace('{}', str(number))}"
    assert is_problem(coordinator.http.get(address), 404, 422)


@pytest.mark.parametrize(
    "path",
    [
        *("/api/v1/history/{}/f", "/api/v1/history/jax/{}", "/api/v1/compare?a={}&b=1", "/api/v1/compare?a=1:{}&b=1"),
        *("/api/v1/campaigns/1/outcomes?function={}", "/api/v1/campaigns/1/outcomes?framework={}"),
        *("/api/v1/campaigns/1/matrix?q={}", "/api/v1/campaigns/1/tables/{}", "/api/v1/campaigns/1/figures/{}"),
        *("/api/v1/campaigns/1/tables?reference={}", "/api/v1/campaigns/1/report?reference_device={}"),
        *("/history/jax/{}", "/history/{}/f", "/campaigns/1/functions/jax/{}", "/campaigns/1/functions/{}/f"),
        *("/campaigns/1/matrix?q={}", "/reference/tables/{}", "/reference/figures/{}.svg"),
    ],
)
@pytest.mark.parametrize("text", ["%00", "a%00b", "%FF%FE", "%ED%A0%80", "x" * 5_000])
def test_a_text_that_no_database_holds(coordinator: CoordinatorProcess, path: str, text: str) -> None:
    address = f"http://127.0.0.1:{coordinator.port}{path.replace('{}', text)}"
    assert is_problem(coordinator.http.get(address), 404, 422)


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"\xff", b"{", b"null", b"[]", b'"x"', b"[" * 100_000, b"1" * 10_000, b'{"\\ud800": 1}', b"\x00"),
        *(json.dumps({"name": text}).encode() for text in ("a\0b", "\ud800", "x" * 100_000)),
        *(json.dumps({"suite": text}).encode() for text in ("a\0b", "\ud800")),
        *(json.dumps({"functions": [text]}).encode() for text in ("a\0b", "\ud800")),
        *(json.dumps({"rerun": {"campaign": n, "which": "failed"}}).encode() for n in (PAST_INTEGER, ENDLESS, True)),
        *(json.dumps({"runs": number}).encode() for number in (0, PAST_BIGINT, ENDLESS, 1.5, "x")),
        *(b'{"timeout_s": %s}' % number for number in (b"NaN", b"1e999", b"-1", b"0", b"1e-400")),
    ],
    ids=lambda body: repr(body[:30]),
)
def test_a_body_that_is_no_campaign(coordinator: CoordinatorProcess, body: bytes) -> None:
    answer = coordinator.http.post("/campaigns", content=body, headers={"Content-Type": "application/json"})
    assert is_problem(answer, 400, 404, 422)


@pytest.mark.parametrize("field", ["case", "target", "why"])
@pytest.mark.parametrize("text", ["", "a\0b", "\ud800", "x" * 5_000])
def test_an_override_that_cannot_be_stored(coordinator: CoordinatorProcess, field: str, text: str) -> None:
    body = json.dumps(OVERRIDE | {field: text}).encode()
    headers = {"Content-Type": "application/json"}
    assert is_problem(coordinator.http.put("/campaigns/1/overrides", content=body, headers=headers), 422)


@pytest.mark.parametrize("media", ["text/plain", "application/xml", "application/x-www-form-urlencoded", "x", ""])
def test_a_body_of_another_type(coordinator: CoordinatorProcess, media: str) -> None:
    answer = coordinator.http.post("/campaigns", content=b"<x/>", headers={"Content-Type": media})
    assert is_problem(answer, 400, 415, 422)


@pytest.mark.parametrize(
    ("path", "allowed_methods"),
    [("/campaigns", "GET, POST"), ("/runners/enrol", "POST"), ("/runners/1", "DELETE, GET"), ("/compare", "GET")],
)
@pytest.mark.parametrize("method", ["PATCH", "TRACE", "OPTIONS", "BREW"])
def test_another_method_is_told_what_is_allowed(
    coordinator: CoordinatorProcess, path: str, allowed_methods: str, method: str
) -> None:
    answer = coordinator.http.request(method, path)
    assert is_problem(answer, 405)
    assert answer.headers["allow"] == allowed_methods


def test_a_query_that_is_too_much(coordinator: CoordinatorProcess) -> None:
    assert coordinator.http.get("/campaigns?" + "&" * 20_000 + "limit=1").status_code == 200
    assert is_problem(coordinator.http.get("/campaigns?limit=" + "1" * 20_000), 422)
    assert is_problem(coordinator.http.get("/campaigns?limit=1&limit=x"), 422)


def job(**fields: Any) -> dict[str, Any]:
    return {"id": "j", "attempt": 1, "case": "hazards.add/0", "run": 1, "timeout_s": 1.0, "timing": "off"} | fields


@pytest.mark.parametrize(
    "fields",
    [
        *({"attempt": number} for number in (0, -1, True, "1", 1.5)),
        *({"run": number} for number in (0, True, "1")),
        *({"timeout_s": number} for number in (0, -1, True, "1", 1e9)),
        *({"id": text} for text in ("", "a b", "a\0", "x" * 65, 1)),
        *({"timing": "often"}, {"case": 1}, {"more": 1}),
    ],
    ids=repr,
)
def test_a_job_that_a_runner_cannot_read(runner: RunnerProcess, fields: dict[str, Any]) -> None:
    suite = {"suite": runner.suite.name, "revision": runner.suite.revision}
    body = {"boot_id": runner.info.boot_id, **suite, "jobs": [job(**fields)]}
    assert is_problem(runner.http.post("/v1/jobs", json=body), 422)


@pytest.mark.parametrize(
    ("method", "path", "statuses"),
    [
        ("GET", "/v1/events?boot_id={boot}&after=-1", (422,)),
        ("GET", f"/v1/events?boot_id={{boot}}&after={PAST_BIGINT}", (422,)),
        ("GET", f"/v1/events?boot_id={{boot}}&after={ENDLESS}", (422,)),
        ("GET", "/v1/events?boot_id=%00&after=0", (409,)),
        ("GET", "/v1/events?boot_id=%ED%A0%80&after=0", (409,)),
        ("DELETE", f"/v1/jobs/j/{ENDLESS}", (422,)),
        ("DELETE", "/v1/jobs/j/x", (422,)),
        ("GET", "/v1/nothing%00", (404,)),
        ("PATCH", "/v1/jobs", (405,)),
    ],
)
def test_an_address_that_a_runner_refuses(
    runner: RunnerProcess, method: str, path: str, statuses: tuple[int, ...]
) -> None:
    assert is_problem(runner.http.request(method, path.format(boot=runner.info.boot_id)), *statuses)


@pytest.mark.parametrize(
    "body", [b"", b"\xff", b"{", b"[" * 100_000, b'{"\\ud800": 1}', b'{"boot_id": "\\ud800", "n": 1}']
)
@pytest.mark.parametrize("path", ["/v1/jobs", "/v1/events/ack"])
def test_a_body_that_a_runner_cannot_read(runner: RunnerProcess, path: str, body: bytes) -> None:
    assert is_problem(runner.http.post(path, content=body), 422)
