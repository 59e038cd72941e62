"""Evidence over the real application: a bundle gives the same evidence as the campaign that its import creates."""

from __future__ import annotations

import copy
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from coordinator.app import create_app
from coordinator.assess.bundled import from_bundles
from coordinator.assess.evidence import EvidenceSet, TargetEvidence
from coordinator.assess.evidence_file import FORMAT, read
from coordinator.configuration.settings import Settings
from protocol.enums import WITH_RECORDED_VALUES
from tests import bundles
from tests.admin import ADMIN_TOKEN, AS_ADMIN
from tests.database_roles import application

Lines = list[dict[str, Any]]


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> Lines:
    """A bundle of the hazards as the runner wrote it, except for the device: no other target is compared with this
    device."""
    content = bundles.make(tmp_path_factory.mktemp("bundle") / "hazards.bundle").read_bytes()
    lines = bundles.lines_of(content)
    lines[0]["runner"]["device"] = "xla"
    return lines


@pytest.fixture
async def http(database: str) -> AsyncIterator[httpx.AsyncClient]:
    async with serving(database) as client:
        yield client


@asynccontextmanager
async def serving(dsn: str) -> AsyncIterator[httpx.AsyncClient]:
    app = create_app(Settings(database_url=application(dsn), admin_token=ADMIN_TOKEN))
    transport = httpx.ASGITransport(app)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(
            transport=transport, base_url="http://localhost/api/v1", headers=AS_ADMIN, timeout=120
        ) as client,
    ):
        yield client


def change_case(lines: Lines, case: str, years: int, **outcome: Any) -> Lines:
    """A bundle made some years later, in which a case has another ending in every run."""
    lines = copy.deepcopy(lines)
    for line in lines:
        for moment in {"begun_at", "finished_at"} & line.keys():
            line[moment] = f"{int(line[moment][:4]) + years}{line[moment][4:]}"
        if line.get("case") == case:
            line["outcome"].update(outcome)
    return lines


async def send(http: httpx.AsyncClient, lines: Lines) -> int:
    answer = await http.post(bundles.UPLOAD, headers=bundles.HEADERS, content=bundles.sealed(lines))
    assert answer.status_code == 201, answer.text
    number: int = answer.json()["id"]
    return number


async def fetch_evidence(http: httpx.AsyncClient, target: str = "*/*") -> EvidenceSet:
    answer = await http.get("/evidence", params={"target": target})
    assert answer.status_code == 200, answer.text
    return read(answer.content, "the answer", "the test")


def cases(target: TargetEvidence) -> dict[str, tuple[Any, ...]]:
    return {
        case.case: (
            name,
            case.end,
            case.cause,
            case.ending,
            case.said,
            case.tags,
            case.options,
            case.judged_by,
            case.operations,
            case.first_call_ms,
        )
        for name, of_function in target.functions.items()
        for case in of_function
    }


async def test_a_campaign_gives_the_evidence_of_its_bundle(
    http: httpx.AsyncClient, lines: Lines, tmp_path: Path
) -> None:
    file = tmp_path / "one.bundle"
    file.write_bytes(bundles.sealed(lines))
    (expected_target,) = from_bundles([file])
    number = await send(http, lines)
    (target,) = (await fetch_evidence(http)).targets
    assert cases(target) == cases(expected_target)
    assert {case[1] for case in cases(target).values()} >= {"failed"}
    assert (target.target, target.hardware, target.charted_at) == (
        expected_target.target,
        expected_target.hardware,
        expected_target.charted_at,
    )
    (chart,) = target.charts
    assert (chart.campaign, chart.repeat) == (number, expected_target.charts[0].repeat)


async def test_first_calls_are_those_of_the_bundle(http: httpx.AsyncClient, lines: Lines, tmp_path: Path) -> None:
    (passing, *_) = [line["case"] for line in lines[1:] if line["outcome"]["verdict"] == "passed"]
    timed_lines = copy.deepcopy(lines)
    runs = [line for line in timed_lines[1:] if line.get("case") == passing]
    for number, line in enumerate(runs):
        line["outcome"]["placement"], line["outcome"]["proof"] = "on_device", {"executed": 1}
        line["outcome"]["timing"] = {"cold_ms": 3.0 + number, "position": 0}
    file = tmp_path / "one.bundle"
    file.write_bytes(bundles.sealed(timed_lines))
    await send(http, timed_lines)
    for (target,) in (from_bundles([file]), (await fetch_evidence(http)).targets):
        first_calls = {case.case: case.first_call_ms for own in target.functions.values() for case in own}
        assert first_calls[passing] == 3.5


async def test_operations_of_fallbacks_and_failures_are_those_of_the_bundle(
    http: httpx.AsyncClient, lines: Lines, tmp_path: Path
) -> None:
    (failing, *_) = [line["case"] for line in lines[1:] if line["outcome"]["verdict"] == "failed"]
    (passing, *_) = [line["case"] for line in lines[1:] if line["outcome"]["verdict"] == "passed"]
    changed_lines = copy.deepcopy(lines)
    for line in changed_lines:
        if line.get("case") == failing:
            line["outcome"]["evidence"]["operation"] = "aten::isin"
        if line.get("case") == passing:
            line["outcome"]["placement"] = "fell_back"
            line["outcome"]["proof"] = {"fallbacks": {"aten::b": 2, "aten::a": 1}}
    file = tmp_path / "one.bundle"
    file.write_bytes(bundles.sealed(changed_lines))
    await send(http, changed_lines)
    for (target,) in (from_bundles([file]), (await fetch_evidence(http)).targets):
        operations = {case.case: case.operations for own in target.functions.values() for case in own}
        assert operations[failing] == ("aten::isin",)
        assert operations[passing] == ("aten::a", "aten::b")


async def test_the_newest_outcome_of_a_case_counts_whatever_campaign_it_came_from(
    http: httpx.AsyncClient, lines: Lines
) -> None:
    await send(http, lines)
    before = cases((await fetch_evidence(http)).targets[0])
    (failing, *_) = [name for name, case in before.items() if case[1] == "failed"]
    later_lines = change_case(lines, failing, 1, verdict="passed", ending="returned", evidence=None)
    only = [line for line in later_lines if line.get("case", failing) == failing]
    only[0]["suite"]["cases"] = [case for case in only[0]["suite"]["cases"] if case["id"] == failing]
    newest = await send(http, only)
    (target,) = (await fetch_evidence(http)).targets
    after = cases(target)
    assert after.keys() == before.keys()
    assert after[failing][1] != "failed"
    assert {name for name in after if after[name] != before[name]} == {failing}
    assert target.charts[0].campaign == newest


@pytest.mark.parametrize("is_newest_first", [False, True])
async def test_an_older_campaign_in_which_a_case_ends_otherwise_disagrees(
    http: httpx.AsyncClient, lines: Lines, is_newest_first: bool
) -> None:
    (failing, *_) = [line["case"] for line in lines[1:] if line["outcome"]["verdict"] == "failed"]
    later_lines = change_case(lines, failing, 1, verdict="passed", ending="returned", evidence=None)
    order = (later_lines, lines) if is_newest_first else (lines, later_lines)
    numbers = [await send(http, bundle) for bundle in order]
    older = numbers[1] if is_newest_first else numbers[0]
    (target,) = (await fetch_evidence(http)).targets
    disagreeing = {case.case: case.disagreeing for own in target.functions.values() for case in own}
    assert {case for case, charts in disagreeing.items() if charts} == {failing}
    (number,) = disagreeing[failing]
    assert target.charts[number].campaign == older
    assert all(case.options is not None for own in target.functions.values() for case in own)


async def test_an_older_campaign_in_which_a_recorded_call_raised_on_the_cpu_too_disagrees(
    http: httpx.AsyncClient, lines: Lines
) -> None:
    (raising, *_) = [line["case"] for line in lines[1:] if line["outcome"]["ending"] == "raised"]
    older_lines = copy.deepcopy([line for line in lines if line.get("case", raising) == raising])
    suite = older_lines[0]["suite"]
    (case,) = suite["cases"] = [case for case in suite["cases"] if case["id"] == raising]
    case["tags"] = [*case["tags"], WITH_RECORDED_VALUES]
    for line in older_lines[1:]:
        if line.get("case") == raising:
            line["outcome"]["evidence"]["on_host"] = "failed_alike"
    newer_lines = change_case(older_lines, raising, 1, verdict="passed", ending="returned", evidence=None)
    older = await send(http, older_lines)
    await send(http, newer_lines)
    (target,) = (await fetch_evidence(http)).targets
    charts = {case.case: case.disagreeing for own in target.functions.values() for case in own}[raising]
    assert [target.charts[number].campaign for number in charts] == [older]


async def test_only_targets_that_the_selector_matches_are_sent(http: httpx.AsyncClient, lines: Lines) -> None:
    await send(http, lines)
    assert [target.short for target in (await fetch_evidence(http, "hazards/xla")).targets] == ["hazards/xla"]
    assert (await fetch_evidence(http, "hazards/tpu")).targets == ()
    answer = await http.get("/evidence", params={"target": "no selector"})
    assert answer.status_code == 422
    assert "write framework/device" in answer.json()["detail"]


async def test_the_cpu_is_no_target_of_an_assessment(http: httpx.AsyncClient, lines: Lines) -> None:
    on_host = copy.deepcopy(lines)
    on_host[0]["runner"]["device"] = "cpu"
    await send(http, on_host)
    answer = await http.get("/evidence")
    assert json.loads(answer.content)["targets"] == []
    assert json.loads(answer.content)["format"] == FORMAT
