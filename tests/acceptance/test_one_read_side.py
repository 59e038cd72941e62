"""Every surface that shows a campaign shows the same figures, to the last digit.

The campaign has two CPU machines, a simulated target, an override, a fallback, a flaky case, and two versions of
everything that could be added up in two ways. The database also has a campaign of a second suite of the same revision,
and a rerun. The expected figures were counted by hand.
"""

from __future__ import annotations

import asyncio
import csv
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from html import unescape
from pathlib import Path
from typing import Any

import asyncpg
import pyarrow.parquet as pq
import pytest

from coordinator.figures import formats
from coordinator.figures.counting import NAMES
from tests.admin import ADMIN_TOKEN
from tests.coordinator_process import CoordinatorProcess
from tests.portolan_process import Portolan
from tests.runner_process import ROOT

CPU, SLOW_CPU, XLA, TOY = "a fast CPU", "a slow CPU", "a fast CPU (xla)", "a toy"
DEVICES = {CPU: "cpu", SLOW_CPU: "cpu", XLA: "xla", TOY: "toy"}
HOSTS = {CPU: "harbour", SLOW_CPU: "pier", XLA: "harbour", TOY: "harbour"}
SUITE = {"torch.add": 2, "torch.flaky": 1, "torch.fell": 1, "torch.sort": 1, "torch.slow": 1, "torch.wrong": 1}
RUNS = 2


@dataclass(frozen=True)
class Run:
    """One outcome, with times in milliseconds."""

    steady: float | None = None
    cold: float | None = None
    verdict: str = "passed"
    cause: str | None = None
    placement: str = "on_device"


@dataclass
class World:
    """A coordinator on a database that contains the campaigns."""

    coordinator: CoordinatorProcess
    dsn: str
    targets: dict[str, int] = field(default_factory=dict)

    def get(self, path: str, **query: Any) -> Any:
        answer = self.coordinator.http.get(path, params=query)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def page(self, path: str) -> str:
        return self.coordinator.page(path)

    def rows(self, query: str) -> list[dict[str, Any]]:
        async def read() -> list[dict[str, Any]]:
            connection = await asyncpg.connect(self.dsn)
            try:
                return [dict(row) for row in await connection.fetch(query)]
            finally:
                await connection.close()

        return asyncio.run(read())

    def run_command(self, *arguments: str) -> str:
        process = subprocess.run(
            [sys.executable, "-m", "coordinator", *arguments, "--url", self.coordinator.url],
            env={**os.environ, "PORTOLAN_TOKEN": ADMIN_TOKEN},
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert process.returncode == 0, process.stderr
        return process.stdout


@contextmanager
def serve_world(dsn: str, fill: Callable[[str], Coroutine[Any, Any, dict[str, int]]]) -> Iterator[World]:
    """Start a coordinator on the database, after the database is filled."""
    targets = asyncio.run(fill(dsn))
    coordinator = CoordinatorProcess(dsn)
    try:
        yield World(coordinator, dsn, targets)
    finally:
        coordinator.stop()


def paper() -> dict[tuple[str, str], list[Run]]:
    """Runs by function/case and target. They are chosen so that two definitions of a figure cannot give equal numbers
    by chance."""
    fails = Run(verdict="failed", cause="type")
    return {
        # × 0.778 against the CPU of its host; the slow CPU is 100 times slower, and measured both.
        ("torch.add/0", CPU): [Run(1.0, 999.9), Run(1.0, 999.9)],
        ("torch.add/0", SLOW_CPU): [Run(100.0, 12_345_000.0), Run(100.0, 12_345_000.0)],
        ("torch.add/0", XLA): [Run(0.778, 20.0), Run(0.778, 20.0)],
        ("torch.add/0", TOY): [Run(0.778, 20.0), Run(0.778, 20.0)],
        ("torch.add/1", CPU): [fails, fails],
        ("torch.add/1", SLOW_CPU): [Run(100.0, 100.0), Run(100.0, 100.0)],
        ("torch.add/1", XLA): [Run(0.5, 20.0), Run(0.5, 20.0)],
        ("torch.add/1", TOY): [Run(0.5, 20.0), Run(0.5, 20.0)],
        ("torch.flaky/0", CPU): [Run(2.0, 3.0), Run(2.0, 3.0)],
        ("torch.flaky/0", SLOW_CPU): [Run(200.0, 300.0), Run(200.0, 300.0)],
        ("torch.flaky/0", XLA): [Run(4.0, 5.0), Run(verdict="failed", cause="assertion")],
        ("torch.fell/0", CPU): [Run(1.0, 1.0), Run(1.0, 1.0)],
        ("torch.fell/0", XLA): [Run(9.0, 9.0, placement="fell_back"), Run(9.0, 9.0, placement="fell_back")],
        ("torch.sort/0", CPU): [Run(1.0, 2.0), Run(3.0, 4.0)],
        ("torch.sort/0", XLA): [Run(100.0, 200.0), Run(110.0, 220.0)],
        ("torch.slow/0", CPU): [Run(0.001, 0.01), Run(0.001, 0.01)],
        ("torch.slow/0", XLA): [Run(12.345, 20_500.0), Run(12.345, 20_500.0)],
        ("torch.wrong/0", CPU): [Run(1.0, 1.0), Run(1.0, 1.0)],
        ("torch.wrong/0", XLA): [fails, fails],
    }


RATIOS = {"torch.add": 0.778, "torch.flaky": 2.0, "torch.sort": 100.0, "torch.slow": 12_345.0}
"""Ratios to the CPU of the same host, computed by hand. Of each function, both devices have one case in common."""
GEOMETRIC_MEAN = (0.778 * 2.0 * 100.0 * 12_345.0) ** 0.25


async def fill(dsn: str) -> dict[str, int]:
    connection = await asyncpg.connect(dsn)
    for host in ("harbour", "pier"):
        await connection.execute(
            "insert into fingerprints (id, body) values ($1::text, $2)",
            host,
            json.dumps({"host": host, "python": "3.11"}),
        )
    targets = {
        name: await connection.fetchval(
            "insert into targets (framework, version, device, device_class, hardware, environment, simulated)"
            " values ('torch', '2.9.0', $1, $2, $3, 'e', $4) returning id",
            *(device, "other" if device == "toy" else "cpu", name, device == "toy"),
        )
        # The slow CPU is the older one: that alone must not make it the base.
        for name, device in sorted(DEVICES.items(), key=lambda item: item[0] != SLOW_CPU)
    }
    outcomes = paper()
    await campaign(connection, "first", "paper", targets, outcomes)
    # Another suite, of the same revision, in which all is otherwise.
    other = {key: [Run(50.0, 50.0, "failed", "memory")] * RUNS for key in outcomes if key[1] in (CPU, XLA)}
    await campaign(connection, "second suite", "library", targets, other)
    rerun = {("torch.wrong/0", XLA): [Run(1.5, 2.5), Run(1.5, 2.5)]}
    await campaign(connection, "rerun", "paper", targets, rerun, rerun_of=1)
    await connection.close()
    return targets


async def campaign(
    connection: asyncpg.Connection[Any],
    name: str,
    suite: str,
    targets: dict[str, int],
    outcomes: dict[tuple[str, str], list[Run]],
    rerun_of: int | None = None,
) -> None:
    suite_id = await connection.fetchval(
        "insert into suites (name, framework, revision, digest) "
        "values ($1, 'torch', 'r1', '') on conflict do nothing returning id",
        suite,
    ) or await connection.fetchval("select id from suites where name = $1", suite)
    number = await connection.fetchval(
        "insert into campaigns"
        " (name, suite, selectors, functions, runs, timeout_s, timing, state, finished_at, rerun_of)"
        " values ($1, $2, '[]', '[]', 2, 900, 'steady', 'done', now(), $3) returning id",
        *(name, suite, rerun_of),
    )
    for target in dict.fromkeys(target for _, target in outcomes):
        await connection.execute(
            "insert into campaign_targets (campaign_id, target_id, suite_id, total) values ($1, $2, $3, 0)",
            *(number, targets[target], suite_id),
        )
    for position, ((case, target), runs) in enumerate(outcomes.items()):
        case_id = await connection.fetchval(
            "select id from cases where suite_id = $1 and name = $2", suite_id, case
        ) or await connection.fetchval(
            "insert into cases (suite_id, name, function, position) values ($1, $2, $3, $4) returning id",
            *(suite_id, case, case.partition("/")[0], position),
        )
        for run, outcome in enumerate(runs, 1):
            job = await connection.fetchval(
                "insert into jobs (campaign_id, target_id, case_id, run, priority, state, attempt)"
                " values ($1, $2, $3, $4, 0, 'done', 1) returning id",
                *(number, targets[target], case_id, run),
            )
            await connection.execute(
                "insert into outcomes (job_id, attempt, campaign_id, target_id, case_id, run, fingerprint_id, verdict,"
                " ending, cause, rule, placement, cold_ms, steady_ms, iqr_ms, samples_ms, position, calls_per_sample,"
                " duration_s)"
                " values ($1, 1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, 1, 0.5)",
                *(job, number, targets[target], case_id, run, HOSTS[target], outcome.verdict),
                "returned" if outcome.verdict == "passed" else "raised",
                *(outcome.cause, outcome.cause and "a-rule", outcome.placement, outcome.cold, outcome.steady),
                None if outcome.steady is None else 0.1,
                None if outcome.steady is None else [outcome.steady] * 3,
                # The first run began its process.
                run - 1,
            )
            await connection.execute(
                "update campaign_targets set total = total + 1, done = done + 1,"
                f" {outcome.verdict} = {outcome.verdict} + 1 where campaign_id = $1 and target_id = $2",
                *(number, targets[target]),
            )


@pytest.fixture(scope="module")
def world(new_database: Callable[..., str]) -> Iterator[World]:
    with serve_world(new_database(), fill) as world:
        answer = world.coordinator.http.put(
            "/campaigns/1/overrides",
            json={"case": "torch.wrong/0", "target": "torch/xla", "cause": "precision", "why": "it is near"},
        )
        assert answer.status_code == 200, answer.text
        yield world


FIGURES = (
    "verdict", "verdict_on_device", "passed", "failed", "total", "skipped", "incomplete", "flaky", "fell_back",
    "passed_on_device", "total_on_device", "unknown_on_device", "cause", "cause_on_device", "not_counted_cause",
    "unknown_cause", "cold_ms", "first_cold_ms", "later_cold_ms", "low_ms", "steady_ms", "noisy", "iqr_ms", "samples",
    "ratio_to_cpu", "ratio_cases", "cpu_target_id",
)  # fmt: skip
Figures = dict[tuple[str, int], dict[str, Any]]
"""By function and target."""


@pytest.fixture(scope="module")
def from_views(world: World) -> Figures:
    rows = world.rows("""
        SELECT v.*, v.unknown_placement AS unknown_on_device,
               l.cold_ms, l.first_cold_ms, l.later_cold_ms, l.low_ms, l.steady_ms, l.noisy, l.iqr_ms, l.samples,
               r.ratio AS ratio_to_cpu, r.cases AS ratio_cases,
               r.cpu_target_id
          FROM function_verdicts v
          LEFT JOIN function_latencies l USING (campaign_id, target_id, function)
          LEFT JOIN function_ratios r USING (campaign_id, target_id, function)
         WHERE v.campaign_id = 1
    """)
    return {(row["function"], row["target_id"]): {name: row[name] for name in FIGURES} for row in rows}


def test_the_views_say_what_was_counted_by_hand(world: World, from_views: Figures) -> None:
    xla, cpu, slow, toy = (world.targets[name] for name in (XLA, CPU, SLOW_CPU, TOY))
    for function, ratio in RATIOS.items():
        figures = from_views[function, xla]
        assert figures["ratio_to_cpu"] == pytest.approx(ratio)
        assert (figures["ratio_cases"], figures["cpu_target_id"]) == (1, cpu), function
    without = {key for key, figures in from_views.items() if figures["ratio_to_cpu"] is None}
    assert {key for key in from_views if key[1] in (cpu, slow, toy)} <= without, "a CPU, or a simulated device"
    assert from_views["torch.flaky", xla]["flaky"] == 1
    assert from_views["torch.wrong", xla]["cause"] == "precision", "a person named it"
    fell = from_views["torch.fell", xla]
    assert (fell["verdict"], fell["verdict_on_device"], fell["fell_back"]) == ("success", "complete", 1)
    sort = from_views["torch.sort", xla]
    assert (sort["steady_ms"], sort["low_ms"], sort["noisy"]) == (105.0, 100.0, 0)
    assert (sort["first_cold_ms"], sort["cold_ms"], sort["later_cold_ms"]) == (200.0, 210.0, 220.0)
    assert from_views["torch.sort", cpu]["noisy"] == 1, "its median is 2, and its level 1"


def in_a_line(cell: dict[str, Any]) -> dict[str, Any]:
    """The figures of a cell from REST, under the names that a line of the command line uses."""
    anywhere, on_device = cell["counts"]["anywhere"], cell["counts"].get("on_device", {})
    line = cell | anywhere | {f"{name}_on_device": on_device.get(name) for name in anywhere}
    return {name: line[name] for name in FIGURES}


def test_rest_has_every_figure_of_the_views(world: World, from_views: Figures) -> None:
    page = world.get("/campaigns/1/matrix")
    assert page["freshness"]["current"]
    cells = {
        (row["function"], int(target)): in_a_line(cell) for row in page["rows"] for target, cell in row["cells"].items()
    }
    assert cells == from_views


def test_the_csv_of_the_matrix_has_every_figure_of_the_views(world: World, from_views: Figures) -> None:
    answer = world.coordinator.http.get(f"{world.coordinator.url}/campaigns/1/matrix", params={"as": "csv"})
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert len(rows) == len(from_views)
    for row in rows:
        figures = from_views[row["function"], world.targets[row["hardware"]]]
        expected_figures = {name: "" if figures[name] is None else str(figures[name]) for name in FIGURES}
        assert {name: row[name] for name in FIGURES} == expected_figures


def test_a_functions_history_has_the_same_cell_and_compares_one_suite_alone(world: World, from_views: Figures) -> None:
    for function in SUITE:
        cells = world.get(f"/history/torch/{function}")["cells"]
        for cell in cells:
            if cell["campaign_id"] == 1:
                assert in_a_line(cell) == from_views[function, cell["target_id"]]
    changes = {
        (cell["campaign_id"], cell["suite"], cell["device"]): cell["changed"]
        for cell in world.get("/history/torch/torch.wrong")["cells"]
    }
    assert changes[3, "paper", "xla"], "it failed in the campaign that this is a rerun of"
    assert not changes[2, "library", "xla"]
    assert not changes[1, "paper", "xla"]
    whole = world.page("/history/torch/torch.wrong")
    assert whole.count("changed") == 1
    assert "suite library" in whole


def test_suites_of_the_same_revision_are_not_compared(world: World) -> None:
    comparison = world.get("/compare", a="1", b="2")
    assert comparison["pairs"] == []
    both = [left["why"] for left in comparison["left_out"] if left["side"] == "both"]
    assert both
    assert all("their suites differ (paper and library)" in why for why in both)
    again = world.get("/compare", a="1:torch/xla", b="3:torch/xla")
    (pair,) = again["pairs"]
    assert pair["verdicts"]["counts"]["fixes"] == 1


@pytest.mark.parametrize(
    ("rule", "kind", "why"),
    [
        ("anywhere", "fix", None),
        ("on_device", "fix", None),
        ("without_host_work", "fix", None),
        ("independent", "insufficient data", "counted on neither side"),
        ("without_one_case_verdicts", "insufficient data", "counted on neither side"),
    ],
)
def test_a_comparison_counts_by_any_rule(world: World, rule: str, kind: str, why: str | None) -> None:
    comparison = world.get("/compare", a="1:torch/xla", b="3:torch/xla", rule=rule)
    (change,) = [
        change for change in comparison["pairs"][0]["verdicts"]["changes"] if change["function"] == "torch.wrong"
    ]
    assert (comparison["rule"], change["kind"], change["why"]) == (rule, kind, why)
    assert (
        json.loads(world.run_command("compare", "1:torch/xla", "3:torch/xla", "--rule", rule, "--json")) == comparison
    )


@pytest.mark.parametrize("command", [("results", "1"), ("compare", "1", "3")])
def test_the_command_line_refuses_an_unknown_rule_with_those_that_there_are(
    world: World, tmp_path: Path, command: tuple[str, ...]
) -> None:
    portolan = Portolan(tmp_path, PORTOLAN_URL=world.coordinator.url)
    message = portolan.refused(*command, "--rule", "upside_down")
    assert f"there is no counting rule 'upside_down'; choose one of: {', '.join(NAMES)}" in message


def test_a_comparison_says_everywhere_what_change_its_hosts_could_have_shown(world: World) -> None:
    """On XLA, one case of four took 1.1 times as long in its second run in the first campaign, and no case in the
    rerun."""
    sides = ("1:torch/xla", "3:torch/xla")
    (pair,) = world.get("/compare", a=sides[0], b=sides[1])["pairs"]
    assert pair["latencies"]["between_halves"] == [pytest.approx(1.1), pytest.approx(1.0)]
    sentence = "A differs by up to ×1.1 and B differs by up to ×1"
    assert sentence in text_of(world.page(f"/compare?a={sides[0]}&b={sides[1]}"))
    assert sentence in " ".join(world.run_command("compare", *sides).split())


def test_outcomes_are_the_same_in_json_csv_parquet_and_the_view(world: World) -> None:
    rows = world.get("/campaigns/1/outcomes", limit=5000)["outcomes"]
    view_rows = world.rows("SELECT * FROM outcome_rows WHERE campaign_id = 1 ORDER BY job_id")
    table = world.coordinator.http.get("/campaigns/1/outcomes", params={"format": "csv"})
    csv_rows = list(csv.DictReader(io.StringIO(table.text)))
    parquet = world.coordinator.http.get("/campaigns/1/outcomes", params={"format": "parquet"})
    parquet_rows = pq.read_table(io.BytesIO(parquet.content)).to_pylist()
    names = ("job_id", "function", "case", "run", "verdict", "verdict_on_device", "cause", "cause_on_device", "rule",
             "placement", "cold_ms", "low_ms", "noisy", "steady_ms", "iqr_ms", "samples", "overridden_by")  # fmt: skip
    assert len(rows) == len(view_rows) == len(csv_rows) == len(parquet_rows) == sum(map(len, paper().values()))
    for outcome, view_row, line, record in zip(rows, view_rows, csv_rows, parquet_rows, strict=True):
        figures = {name: outcome[name] for name in names}
        assert figures == {name: view_row[name] for name in names}
        assert figures == {name: record[name] for name in names}
        assert {name: line[name] for name in names} == {
            name: "" if value is None else str(value) for name, value in figures.items()
        }
    by_device = world.get("/campaigns/1/outcomes", rule="on_device", verdict="failed")["outcomes"]
    assert {row["job_id"] for row in by_device} == {
        row["job_id"] for row in view_rows if row["verdict_on_device"] == "failed"
    }


def figure_words(figures: dict[str, Any]) -> list[str]:
    """The figures as users read them."""
    words = [f"{figures['passed']}/{figures['total']}" if figures["total"] else "–"]
    if figures["low_ms"] is not None:
        words.append(formats.latency(figures["low_ms"]))
    if figures["ratio_to_cpu"] is not None:
        words.append(formats.ratio(figures["ratio_to_cpu"]))
    return words


def text_of(html: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", html)).replace("\u202f", " ").split())


def test_figures_are_written_in_one_way(from_views: Figures, world: World) -> None:
    """Where a page wrote 1e+03 ms and 1.23e+04 s."""
    cpu, slow, xla = (world.targets[name] for name in (CPU, SLOW_CPU, XLA))
    assert formats.latency(from_views["torch.add", cpu]["cold_ms"]) == "1 s"
    assert formats.latency(12_345_000.0) == "12,345 s"
    assert formats.ratio(from_views["torch.slow", xla]["ratio_to_cpu"]) == "×12,345"
    assert from_views["torch.add", slow]["cold_ms"] == (12_345_000.0 + 100.0) / 2


def test_the_page_of_the_matrix_shows_the_same_figures(world: World, from_views: Figures) -> None:
    for which, ends in (("anywhere", ""), ("on_device", "_on_device")):
        html = world.page(f"/campaigns/1/matrix?rule={which}")
        for (function, target), figures in from_views.items():
            address = f'/campaigns/1/functions/torch/{function}#t-{target}"'
            (cell,) = re.findall(rf'<td class="cell[^>]*><a href="{re.escape(address)}.*?</td>', html, re.DOTALL)
            rule_figures = figures | {name: figures[f"{name}{ends}"] for name in ("passed", "total")}
            for word in figure_words(rule_figures):
                assert word in text_of(cell), (function, target, which)


def test_the_page_of_a_function_shows_the_same_figures(world: World, from_views: Figures) -> None:
    for (function, target), figures in from_views.items():
        html = world.page(f"/campaigns/1/functions/torch/{function}")
        (row,) = re.findall(rf'<tr><th scope="row"><a href="#t-{target}">.*?</tr>', html, re.DOTALL)
        expected_words = [
            formats.verdict_words(figures["verdict"]),
            f"{figures['passed']}/{figures['total']}",
            formats.ratio(figures["ratio_to_cpu"]),
        ]
        expected_words += [
            formats.latency(figures[name]) for name in ("first_cold_ms", "later_cold_ms", "low_ms", "steady_ms")
        ]
        for word in expected_words:
            assert word in text_of(row), (function, target)


def test_the_terminal_shows_the_same_figures(world: World, from_views: Figures) -> None:
    for name, target in world.targets.items():
        lines = world.run_command("results", "1", "--device", DEVICES[name]).splitlines()
        for function in SUITE:
            if (function, target) not in from_views:
                continue
            figures = from_views[function, target]
            (line,) = [line for line in lines if line.startswith(f"{function} ")]
            for word in figure_words(figures):
                assert word in line, (name, function)
            if figures["first_cold_ms"] is not None:
                assert formats.latency(figures["first_cold_ms"]) in line


def test_the_headline_is_one_sentence_on_every_surface(world: World) -> None:
    sections = {section["heading"]: section["sentences"] for section in world.get("/campaigns/1/summary")["sections"]}
    report = world.coordinator.http.get(f"{world.coordinator.url}/campaigns/1/report", params={"as": "json"}).json()
    assert {section["heading"]: section["sentences"] for section in report["summary"]} == sections
    terminal = world.run_command("results", "1")
    page = text_of(world.page("/campaigns/1/report"))
    for sentences in sections.values():
        for sentence in sentences:
            assert sentence in terminal
            assert sentence in page
    mean = formats.significant(GEOMETRIC_MEAN)
    base = f"torch@2.9.0/cpu on {CPU}"
    assert (
        f"A call takes {mean} times as long as on {base} (geometric mean over 4 functions; 1 is faster)."
        in sections["torch@2.9.0/xla"]
    )
    assert not any("times as long" in sentence for sentence in sections["torch@2.9.0/toy"])


def test_the_tables_of_the_report_hold_the_same_ratios(world: World, from_views: Figures) -> None:
    xla = world.targets[XLA]
    rows = world.get("/campaigns/1/tables/latencies", reference="none")["rows"]
    against_cpu = {row["function"]: row for row in rows if row["other"] == "torch@2.9.0/xla"}
    assert {row["base"] for row in against_cpu.values()} == {f"torch@2.9.0/cpu on {CPU}"}
    for function in RATIOS:
        cell = against_cpu[function]["ratio"]
        figures = from_views[function, xla]
        assert cell["value"] == pytest.approx(figures["ratio_to_cpu"], rel=1e-12)
        assert cell["n"] == figures["ratio_cases"]
        assert formats.significant(cell["value"]) == formats.significant(figures["ratio_to_cpu"])
    counts = world.get("/campaigns/1/tables/counts", reference="none")["rows"]
    for name, target in world.targets.items():
        verdicts = [figures["verdict"] for (_, of), figures in from_views.items() if of == target]
        (row,) = [row for row in counts if row["hardware"] == name and row["counted_by"] == "verdict"]
        assert {word: row[word] for word in ("success", "partial", "complete")} == {
            word: verdicts.count(word) for word in ("success", "partial", "complete")
        }


def test_the_overview_counts_the_same_functions(world: World, from_views: Figures) -> None:
    answer = world.coordinator.http.get(f"{world.coordinator.url}/campaigns/1", params={"as": "csv"})
    for row in csv.DictReader(io.StringIO(answer.text)):
        target = world.targets[row["hardware"]]
        for column in ("verdict", "verdict_on_device"):
            verdicts = [figures[column] for (_, of), figures in from_views.items() if of == target]
            for word in ("success", "partial", "complete"):
                assert int(row[f"{column}_{word}"]) == verdicts.count(word), (row["hardware"], column)


def test_what_is_kept_by_another_definition_is_made_anew(world: World, from_views: Figures) -> None:
    def spoil() -> None:
        async def write() -> None:
            connection = await asyncpg.connect(world.dsn)
            await connection.execute("update matrix_cells set ratio_to_cpu = 99, skipped = 99 where campaign_id = 1")
            await connection.execute("update matrices set definition = 'an earlier one' where campaign_id = 1")
            await connection.close()

        asyncio.run(write())

    spoil()
    test_rest_has_every_figure_of_the_views(world, from_views)


@pytest.mark.parametrize(
    ("evidence", "words"),
    [
        ({"reason": "killed at its deadline of 900 s"}, "killed at its deadline of 900 s"),
        (None, "killed at its deadline"),
    ],
)
def test_a_timeout_has_the_same_words_on_every_surface(
    world: World, evidence: dict[str, str] | None, words: str
) -> None:
    """This includes the timeout of a runner that gives no reason. No surface shows the database's word alone."""
    evidence_literal = "null" if evidence is None else f"'{json.dumps(evidence)}'"
    changed_rows = world.rows(
        f"UPDATE outcomes o SET ending = 'timed_out', evidence = {evidence_literal} FROM cases c WHERE c.id = o.case_id"
        " AND c.name = 'torch.wrong/0' AND o.campaign_id = 1 AND o.verdict = 'failed' RETURNING job_id"
    )
    jobs = {row["job_id"] for row in changed_rows}
    assert len(jobs) == RUNS
    rows = {row["job_id"]: row["said"] for row in world.get("/campaigns/1/outcomes")["outcomes"]}
    assert {rows[job] for job in jobs} == {words}
    address = f"{world.coordinator.url}/campaigns/1/functions/torch/torch.wrong"
    function = world.coordinator.http.get(address, params={"as": "json"}).json()
    runs = [
        run["said"]
        for target in function["targets"]
        for case in target["cases"]
        for run in case["runs"]
        if run["verdict"] == "failed"
    ]
    assert runs == [words] * RUNS
    pages = ("/campaigns/1", "/campaigns/1/functions/torch/torch.wrong", "/campaigns/1/report")
    texts = [*(text_of(world.page(page)) for page in pages), world.run_command("results", "1")]
    for place, text in zip((*pages, "results"), texts, strict=True):
        assert words in " ".join(text.split()), place
        assert "timed_out" not in text, place


def test_the_cases_of_a_function_have_the_latencies_of_the_view(world: World) -> None:
    names = ("cold_ms", "first_cold_ms", "later_cold_ms", "low_ms", "steady_ms", "unconfirmed")
    rows = world.rows("SELECT * FROM case_latencies WHERE campaign_id = 1")
    expected_figures = {(row["target_id"], row["case"]): {name: row[name] for name in names} for row in rows}
    figures_by_case = {}
    for function in SUITE:
        address = f"{world.coordinator.url}/campaigns/1/functions/torch/{function}"
        page = world.coordinator.http.get(address, params={"as": "json"}).json()
        for target in page["targets"]:
            for case in target["cases"]:
                figures = {name: case[name] for name in names}
                if any(value is not None for value in figures.values()):
                    figures_by_case[target["target_id"], case["case"]] = figures
    assert figures_by_case == expected_figures
    assert {row["unconfirmed"] for row in rows} == {True, False, None}, "torch.sort on the CPU took 1 ms, then 3"
