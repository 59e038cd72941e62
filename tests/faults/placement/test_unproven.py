"""A runner cannot tell where its cases ran. No figure counts these cases as on the device."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from protocol.enums import Unproven
from tests.acceptance.web.visitor import Visitor, text
from tests.coordinator_process import CoordinatorProcess
from tests.portolan_process import Portolan
from tests.runner_process import RunnerProcess

SECRET = "a secret of the unwatched"
PASSES = "hazards.process_id"
FAILS_ONCE = "hazards.add"
ADDRESS = "/functions/hazards/"


@pytest.fixture(scope="module")
def coordinator(new_database: Callable[..., str]) -> Iterator[CoordinatorProcess]:
    coordinator = CoordinatorProcess(new_database())
    yield coordinator
    coordinator.stop()


@pytest.fixture(scope="module")
def campaign(coordinator: CoordinatorProcess) -> Iterator[int]:
    """Seven passing cases and one failing case, each in two runs, on a device that counts no fallbacks."""
    runner = RunnerProcess(device="unwatched", PORTOLAN_RUNNER_SECRET=SECRET)
    try:
        assert coordinator.register(runner.ready["url"], SECRET).status_code == 201
        campaign = coordinator.submit(PASSES, FAILS_ONCE, runs=2, timing="steady")
        final_state = coordinator.wait_ended(campaign)
        assert (final_state["counters"]["passed"], final_state["counters"]["failed"]) == (14, 2)
        yield campaign
    finally:
        runner.stop()


@pytest.fixture(scope="module")
def visitor(coordinator: CoordinatorProcess) -> Iterator[Visitor]:
    visitor = Visitor(coordinator)
    yield visitor
    visitor.http.close()


def get(coordinator: CoordinatorProcess, path: str, **query: Any) -> httpx.Response:
    answer = coordinator.http.get(path, params=query)
    assert answer.status_code == 200, answer.text
    return answer


def test_each_pass_is_unknown_on_the_device_and_each_failure_failed(
    coordinator: CoordinatorProcess, campaign: int
) -> None:
    assert len(coordinator.outcomes(campaign, rule="on_device", verdict="unknown", placement="unknown")) == 14
    assert len(coordinator.outcomes(campaign, rule="on_device", verdict="failed")) == 2
    assert coordinator.outcomes(campaign, rule="on_device", verdict="passed") == []
    assert coordinator.outcomes(campaign, placement="on_device") == []


def test_an_export_says_the_same(coordinator: CoordinatorProcess, campaign: int) -> None:
    csv_text = get(coordinator, f"/campaigns/{campaign}/outcomes", format="csv").text
    rows = list(csv.DictReader(io.StringIO(csv_text)))
    assert {(row["verdict"], row["verdict_on_device"]) for row in rows} == {("passed", "unknown"), ("failed", "failed")}


def test_the_matrix_counts_them_apart(coordinator: CoordinatorProcess, campaign: int) -> None:
    rows = get(coordinator, f"/campaigns/{campaign}/matrix").json()["rows"]
    cells = {row["function"]: next(iter(row["cells"].values())) for row in rows}

    def counts(function: str, rule: str) -> tuple[str, int, int, int]:
        rule_counts = cells[function]["counts"][rule]
        return rule_counts["verdict"], rule_counts["passed"], rule_counts["total"], rule_counts["unknown"]

    assert (counts(PASSES, "anywhere"), counts(PASSES, "on_device")) == (("success", 4, 4, 0), ("unknown", 0, 0, 4))
    assert counts(FAILS_ONCE, "anywhere") == ("partial", 3, 4, 0)
    assert counts(FAILS_ONCE, "on_device") == ("complete", 0, 1, 3)
    assert all(cell["steady_ms"] is None for cell in cells.values()), "a time of nobody knows what"


def test_a_query_finds_them_and_none_passes_on_the_device(visitor: Visitor, campaign: int) -> None:
    def functions_of(query: str, rule: str) -> list[str]:
        rows = visitor.data(f"/campaigns/{campaign}/matrix", q=query, rule=rule)["rows"]
        return [row["function"] for row in rows]

    assert functions_of("passes:unwatched", "anywhere") == [PASSES]
    assert functions_of("passes:unwatched", "on_device") == []
    assert functions_of("unknown:unwatched", "on_device") == [PASSES]
    assert functions_of("unproven:unwatched", "on_device") == [FAILS_ONCE, PASSES]


def test_the_pages_say_so(coordinator: CoordinatorProcess, visitor: Visitor, campaign: int) -> None:
    matrix = text(visitor.read(f"/campaigns/{campaign}/matrix?rule=on_device"))
    assert "4 cases passed with unknown placement" in matrix
    assert "4/4" in text(visitor.read(f"/campaigns/{campaign}/matrix?rule=anywhere"))
    function = text(visitor.read(f"/campaigns/{campaign}{ADDRESS}{FAILS_ONCE}"))
    assert "fails some 3/4 fails all 0/1" in function
    assert "3 cases passed with unknown placement" in function
    past = text(visitor.read(f"/history/hazards/{PASSES}"))
    assert "passes 4/4" in past
    assert "no verdict 0/0 4 passed with unknown placement" in past
    job = coordinator.outcomes(campaign, function=PASSES)[0]["job_id"]
    assert "Verdict on device no verdict" in text(visitor.read(f"/campaigns/{campaign}/outcomes/{job}"))


def test_each_says_why(coordinator: CoordinatorProcess, visitor: Visitor, campaign: int) -> None:
    rows = coordinator.outcomes(campaign, placement="unknown", verdict="passed")
    assert {row["unproven"] for row in rows} == {Unproven.no_array, Unproven.nobody_looked}
    row = next(row for row in rows if row["unproven"] == Unproven.nobody_looked)
    why = Unproven.nobody_looked.sentence
    assert f"unknown: {why}" in text(visitor.read(f"/campaigns/{campaign}/outcomes/{row['job_id']}"))
    assert f"unknown {why}" in text(visitor.read(f"/campaigns/{campaign}{ADDRESS}{row['function']}"))


def test_the_campaigns_page_counts_the_function_as_unknown(visitor: Visitor, campaign: int) -> None:
    (row,) = csv.DictReader(io.StringIO(visitor.http.get(f"/campaigns/{campaign}?as=csv").text))
    assert {word: row[f"verdict_on_device_{word}"] for word in ("success", "partial", "complete", "unknown")} == {
        "success": "0",
        "partial": "0",
        "complete": "1",
        "unknown": "1",
    }


@pytest.mark.parametrize("table", ["portability", "counts"])
def test_no_rate_on_the_device_has_them_below_its_line(
    coordinator: CoordinatorProcess, campaign: int, table: str
) -> None:
    rows = list(
        csv.DictReader(io.StringIO(get(coordinator, f"/campaigns/{campaign}/tables/{table}", format="csv").text))
    )
    plain, strict = (next(row for row in rows if row["counted_by"] == way) for way in ("verdict", "verdict_on_device"))
    if table == "counts":
        assert (plain["success"], plain["total"]) == ("1", "2")
        assert (strict["success"], strict["total"]) == ("0", "1")
    else:
        assert (plain["unknown"], strict["unknown"]) == ("0", "1")


def test_where_they_ran_is_not_proven(coordinator: CoordinatorProcess, campaign: int) -> None:
    (row,) = csv.DictReader(io.StringIO(get(coordinator, f"/campaigns/{campaign}/tables/placement", format="csv").text))
    assert float(row["on_device"]) == 0
    assert float(row["unknown"]) == 100


def test_the_report_says_it_in_words(coordinator: CoordinatorProcess, campaign: int) -> None:
    report = text(get(coordinator, f"/campaigns/{campaign}/report").text)
    assert "On the device: 0 of 1 with proven placement." in report
    assert re.search(r"7 passing cases of hazards\.add and hazards\.\S+ have unknown placement", report)
    assert "No passing case is known to have fallen back" not in report


def test_the_command_line_says_it(coordinator: CoordinatorProcess, campaign: int, tmp_path: Path) -> None:
    portolan = Portolan(tmp_path, PORTOLAN_URL=f"http://127.0.0.1:{coordinator.port}", COLUMNS="200")
    output = portolan.ask("results", str(campaign))
    assert "on device: no verdict, 4 cases passed with unknown placement" in output
    assert "On the device: 0 of 1 with proven placement." in output
    assert "7 passing cases of hazards.add" in output
    assert "no verdict 0/0" in portolan.ask("history", PASSES, "--framework", "hazards")


def test_a_comparison_by_device_has_no_data(coordinator: CoordinatorProcess, campaign: int) -> None:
    again = coordinator.submit(PASSES, FAILS_ONCE, runs=1)
    coordinator.wait_ended(again)
    both = {"a": str(campaign), "b": str(again)}
    (plain,) = get(coordinator, "/compare", **both, rule="anywhere").json()["pairs"]
    (strict,) = get(coordinator, "/compare", **both, rule="on_device").json()["pairs"]
    assert (plain["verdicts"]["counts"]["same"], plain["verdicts"]["counts"]["insufficient"]) == (2, 0)
    assert (strict["verdicts"]["counts"]["same"], strict["verdicts"]["counts"]["insufficient"]) == (1, 1)
