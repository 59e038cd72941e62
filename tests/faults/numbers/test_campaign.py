"""An impossible number arrives in every way in which numbers arrive. The affected campaign can still be shown."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import pytest

from coordinator.app import create_app
from coordinator.configuration.settings import Settings
from tests import bundles
from tests.admin import ADMIN_TOKEN, AS_ADMIN
from tests.database_roles import application
from tests.faults.conformance import toy
from tests.faults.numbers.reading import API, read_everything
from tests.runner_process import RunnerProcess
from tests.waiting import LIMIT_S, async_until

TIMES = (0.0, -0.0, 5e-324, 1e-12, 1e-6, 1.0, 3.0, 1e12)
"""Durations that a clock may report, from zero to the longest."""
CASES = tuple(f"f{place}" for place in range(len(TIMES)))


class Device(toy.Toy):
    """A toy runner with its own device. ``measure`` returns the report of an attempt of the n-th case."""

    def __init__(self, device: str, device_class: str, measure: Callable[[int], dict[str, Any]]) -> None:
        super().__init__()
        self._described = {"device": device, "device_class": device_class, "simulated": False, "queue_limit": 100}
        self._measured = measure

    @property
    def info(self) -> dict[str, Any]:
        return super().info | self._described

    async def _run(self, job: Mapping[str, Any]) -> dict[str, Any]:
        outcome = toy.outcome("passed", "returned", 0.0) | {"placement": "on_device", "proof": {"executed": 1}}
        return outcome | self._measured(CASES.index(job["case"]))


def timing_of(milliseconds: float) -> dict[str, Any]:
    return {"timing": {"init_ms": milliseconds, "cold_ms": milliseconds, "samples_ms": [milliseconds] * 3}}


@pytest.fixture(autouse=True)
def cases(monkeypatch: pytest.MonkeyPatch) -> None:
    """The cases of the toy runners."""
    monkeypatch.setattr(toy, "CASES", CASES)
    monkeypatch.setattr(toy, "QUEUE_LIMIT", 100)


@pytest.fixture
async def client(database: str) -> AsyncIterator[httpx.AsyncClient]:
    app = create_app(Settings(database_url=application(database), admin_token=ADMIN_TOKEN))
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(
            transport=httpx.ASGITransport(app), base_url="http://localhost", headers=AS_ADMIN, timeout=LIMIT_S
        ) as http,
    ):
        yield http


async def ask(client: httpx.AsyncClient, method: str, path: str, status: int, **fields: Any) -> Any:
    answer = await client.request(method, f"{API}{path}", **fields)
    assert answer.status_code == status, answer.text
    return answer.json()


async def register(client: httpx.AsyncClient, url: str, secret: str = toy.SECRET) -> int:
    return int((await ask(client, "POST", "/runners", 201, json={"url": url, "secret": secret}))["id"])


async def submit(client: httpx.AsyncClient, suite: str, **fields: Any) -> int:
    return int((await ask(client, "POST", "/campaigns", 201, json={"suite": suite, **fields}))["id"])


async def wait_done(client: httpx.AsyncClient, campaign: int) -> None:
    async def is_done() -> bool:
        return bool((await ask(client, "GET", f"/campaigns/{campaign}", 200))["state"] == "done")

    await async_until(is_done, "the campaign is done")


async def outcomes(client: httpx.AsyncClient, campaign: int) -> list[dict[str, Any]]:
    return list((await ask(client, "GET", f"/campaigns/{campaign}/outcomes", 200))["outcomes"])


async def test_whatever_a_clock_may_say_every_figure_is_finite(client: httpx.AsyncClient) -> None:
    """Zero has no logarithm and cannot be a divisor, and the largest value is divided by the smallest."""
    cpu = Device("cpu", "cpu", lambda case: timing_of(TIMES[case]))
    gpu = Device("gpu", "gpu", lambda case: timing_of(TIMES[-1 - case]))
    async with AsyncExitStack() as stack:
        for device in (cpu, gpu):
            await register(client, await stack.enter_async_context(toy.toy_server(device)))
        campaign = await submit(client, "toy", runs=2)
        await wait_done(client, campaign)
    rows = await outcomes(client, campaign)
    assert len(rows) == 2 * 2 * len(TIMES)
    by_case = {row["case"]: row["cold_ms"] for row in rows if row["device"] == "cpu"}
    assert [by_case[case] for case in CASES] == [0.0, 0.0, 0.0, 1e-12, 1e-6, 1.0, 3.0, 1e12]
    await read_everything(client, campaign, "toy", ("level", "cold", "paper"))


WRONG: dict[str, dict[str, Any]] = {
    "a first call that is not a number": timing_of(float("nan")),
    "a duration without end": {"duration_s": float("inf")},
    "a sample below zero": {"timing": {"samples_ms": [1.0, -1.0]}},
    "a log past the column": {"log_bytes": 2**63},
}
"""A selection of the values that ``test_messages.py`` has completely."""


@pytest.mark.drawn(4)
@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
async def test_on_a_stream_it_costs_no_other_target_anything(client: httpx.AsyncClient, wrong: dict[str, Any]) -> None:
    async with toy.toy_server(Device("cpu", "cpu", lambda case: timing_of(1.0))) as good:
        await register(client, good)
        async with toy.toy_server(Device("gpu", "gpu", lambda case: wrong)) as bad:
            runner = await register(client, bad)
            campaign = await submit(client, "toy", runs=1)

            async def says_so() -> bool:
                """Whether the coordinator reports the impossible number, for the runner or for the job."""
                runner_row = await ask(client, "GET", f"/runners/{runner}", 200)
                rows = await outcomes(client, campaign)
                good = sum(row["device"] == "cpu" for row in rows)
                is_refused = any(row["device"] == "gpu" and row["verdict"] == "incomplete" for row in rows)
                return good == len(CASES) and (is_refused or "is not a runner" in (runner_row["reason"] or ""))

            await async_until(says_so, "the stream told it")
            assert not any(
                row["device"] == "gpu" and row["verdict"] == "passed" for row in await outcomes(client, campaign)
            )
            await read_everything(client, campaign, "toy")


async def test_from_our_own_child_it_is_told_as_the_environments_fault(client: httpx.AsyncClient) -> None:
    runner = await asyncio.to_thread(RunnerProcess)
    try:
        await register(client, runner.ready["url"], runner.ready["secret"])
        campaign = await submit(client, "hazards", functions=["hazards.one_of", "hazards.report"], runs=1, timeout_s=2)
        await wait_done(client, campaign)
        rows = {row["case"]: row for row in await outcomes(client, campaign)}
        for case in ("one_of/measure-nan", "one_of/measure-negative", "one_of/end-infinite", "report/negative"):
            assert rows[f"hazards.{case}"]["cause"] == "environment", rows[f"hazards.{case}"]
        assert rows["hazards.one_of/two"]["verdict"] == "passed"
        await read_everything(client, campaign, "hazards")
    finally:
        await asyncio.to_thread(runner.stop)


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    bundle_path = bundles.make(tmp_path_factory.mktemp("bundle") / "add.bundle", functions=("hazards.add",), runs=1)
    return bundle_path.read_bytes()


IN_A_BUNDLE: dict[str, tuple[int, Callable[[dict[str, Any]], Any], str]] = {
    "NaN": (1, lambda line: line["outcome"]["timing"].update(cold_ms=float("nan")), "outcome.timing.cold_ms"),
    "infinity": (2, lambda line: line["outcome"].update(duration_s=float("inf")), "outcome.duration_s"),
    "below zero": (3, lambda line: line["outcome"]["timing"].update(samples_ms=[-1.0]), "outcome.timing.samples_ms.0"),
    "past the column": (1, lambda line: line["outcome"].update(log_bytes=2**63), "outcome.log_bytes"),
    "NUL": (4, lambda line: line["outcome"].update(log_tail="a\0b"), "outcome.log_tail"),
    "the year 1": (1, lambda line: line.update(finished_at="0001-01-01T00:00:00+14:00"), "finished_at"),
    "in the header": (0, lambda line: line["runner"].update(device_count=2**31), "runner.device_count"),
    "NUL in a name": (0, lambda line: line["runner"].update(version="1\0"), "runner.version: must not contain NUL"),
    "threads": (0, lambda line: line["runner"]["fingerprint"].update(threads=-1), "runner.fingerprint.threads"),
}


@pytest.mark.drawn(4)
@pytest.mark.parametrize(("place", "change", "field"), IN_A_BUNDLE.values(), ids=IN_A_BUNDLE)
async def test_in_a_bundle_it_is_refused_with_line_and_field(
    client: httpx.AsyncClient, bundle: bytes, place: int, change: Callable[[dict[str, Any]], Any], field: str
) -> None:
    lines = bundles.lines_of(bundle)
    change(lines[place])
    answer = await client.post(f"{API}{bundles.UPLOAD}", headers=bundles.HEADERS, content=bundles.sealed(lines))
    assert answer.status_code == 422, answer.text
    detail = json.loads(answer.content)["detail"]
    assert detail.startswith(f"line {place + 1} of the bundle"), detail
    assert f"({field}" in detail, detail
    assert (await ask(client, "GET", "/campaigns", 200))["campaigns"] == []


async def test_a_bundle_of_our_own_with_broken_reports_can_be_imported(
    client: httpx.AsyncClient, tmp_path: Path
) -> None:
    bundle_path = bundles.make(tmp_path / "report.bundle", "--timeout", "2", functions=("hazards.report",), runs=1)
    campaign = (
        await ask(client, "POST", bundles.UPLOAD, 201, headers=bundles.HEADERS, content=bundle_path.read_bytes())
    )["id"]
    causes = {row["case"]: row["cause"] for row in await outcomes(client, campaign)}
    assert causes.pop("hazards.report/tomorrow") == "timeout"
    assert len(causes) == 5
    assert set(causes.values()) == {"environment"}


async def test_what_a_bundle_may_hold_at_most_is_imported_and_shown(client: httpx.AsyncClient, bundle: bytes) -> None:
    lines = bundles.lines_of(bundle)
    for line, milliseconds in zip(lines[1:], (0.0, 5e-324, 1e12, 1.0), strict=True):
        line["outcome"] |= timing_of(milliseconds) | {
            "log_bytes": 2**63 - 1,
            "duration_s": 1e9,
            "placement": "on_device",
            "proof": {"executed": 1},
        }
    campaign = (await ask(client, "POST", bundles.UPLOAD, 201, headers=bundles.HEADERS, content=bundles.sealed(lines)))[
        "id"
    ]
    await read_everything(client, campaign, "hazards")


@pytest.mark.drawn(4)
@pytest.mark.parametrize("number", ["'NaN'", "'Infinity'", "-1", "1e300", "5e-324"])
@pytest.mark.parametrize("column", ["init_ms", "cold_ms", "steady_ms"])
async def test_the_database_itself_refuses_it(
    client: httpx.AsyncClient, bundle: bytes, database: str, column: str, number: str
) -> None:
    await ask(client, "POST", bundles.UPLOAD, 201, headers=bundles.HEADERS, content=bundle)
    connection = await asyncpg.connect(database)
    try:
        with pytest.raises(asyncpg.CheckViolationError, match="measurable"):
            await connection.execute(f"update outcomes set {column} = {number}")
    finally:
        await connection.close()
