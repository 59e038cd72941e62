"""Tables of a stored campaign: they show the database's values, and the SQL beside a table gives the same values."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from coordinator.cli.matrix_printer import answers
from coordinator.errors import NotFoundError, RequestError, UnknownNameError
from coordinator.reports import service
from coordinator.reports.charts.renderer import Renderer
from coordinator.reports.options import ReportOptions
from coordinator.reports.report import html
from coordinator.reports.table import Missing, Table
from coordinator.reports.table_renderer import to_csv, to_json
from coordinator.results import service as results
from coordinator.results.report_data import MEASURES
from coordinator.results.statistics import Estimate, Rate
from coordinator.web.campaign_pages import overview
from tests.integration.coordinator.results.test_kept_reports import require_rows_of_queries

# Of each case and run: verdict, placement, steady_ms, cold_ms; by target, function and case.
Stored = tuple[str, str, float | None, float | None]
OUTCOMES: dict[tuple[str, str, str], list[Stored]] = {
    ("cpu", "torch.cat", "one"): [("passed", "on_device", 1.0, 10.0), ("passed", "on_device", 3.0, 20.0)],
    ("xla", "torch.cat", "one"): [("passed", "on_device", 4.0, 400.0), ("passed", "on_device", 4.0, 600.0)],
    ("cpu", "torch.cat", "two"): [("passed", "on_device", 500.0, 500.0), ("passed", "on_device", 500.0, 500.0)],
    ("xla", "torch.cat", "two"): [("failed", "unknown", None, 1.0), ("failed", "unknown", None, 1.0)],
    ("cpu", "torch.nonzero", "one"): [("passed", "on_device", 1.0, 1.0), ("passed", "on_device", 1.0, 1.0)],
    ("xla", "torch.nonzero", "one"): [("passed", "fell_back", 9.0, 9.0), ("passed", "fell_back", 9.0, 9.0)],
    ("xla", "torch.sum", "one"): [("incomplete", "unknown", None, None), ("incomplete", "unknown", None, None)],
    ("xla", "torch.<b>x</b>", "one"): [("failed", "unknown", None, None), ("passed", "on_device", 2.0, 2.0)],
}


async def campaign(
    connection: asyncpg.Connection[Any],
    *,
    timing: str = "steady",
    outcomes: dict[tuple[str, str, str], list[Stored]] = OUTCOMES,
) -> int:
    """A campaign with two targets of one framework, and the outcomes above or others."""
    suite = await connection.fetchval(
        "insert into suites (name, framework, revision, digest) values ('paper', 'torch', $1, '') returning id",
        f"r-{timing}",
    )
    number = await connection.fetchval(
        "insert into campaigns (name, suite, selectors, functions, runs, timeout_s, timing)"
        " values ('c', 'paper', '[]', '[]', 2, 900, $1) returning id",
        timing,
    )
    targets = {}
    for device in ("cpu", "xla"):
        targets[device] = await connection.fetchval(
            "insert into targets (framework, version, device, device_class, hardware, environment)"
            " values ('torch', '2.9.0', $1, 'cpu', 'a CPU', $2) returning id",
            device,
            f"environment of {timing}",
        )
        await connection.execute(
            "insert into campaign_targets (campaign_id, target_id, suite_id, total) values ($1, $2, $3, 0)",
            *(number, targets[device], suite),
        )
    for position, ((device, function, case), runs) in enumerate(outcomes.items()):
        case_id = await connection.fetchval(
            "insert into cases (suite_id, name, function, position) values ($1, $2, $3, $4)"
            " on conflict (suite_id, name) do update set function = $3 returning id",
            *(suite, f"{function}/{case}", function, position),
        )
        for run, (verdict, placement, steady, cold) in enumerate(runs, 1):
            job = await connection.fetchval(
                "insert into jobs (campaign_id, target_id, case_id, run, priority, state)"
                " values ($1, $2, $3, $4, 0, 'done') returning id",
                *(number, targets[device], case_id, run),
            )
            await connection.execute(
                "insert into outcomes (job_id, attempt, campaign_id, target_id, case_id, run, verdict, ending, cause,"
                " placement, steady_ms, cold_ms, duration_s, position)"
                " values ($1, 1, $2, $3, $4, $5, $6, 'returned', $7, $8, $9, $10, 1, 0)",
                *(job, number, targets[device], case_id, run, verdict),
                *({"failed": "type", "incomplete": "environment"}.get(verdict), placement, steady, cold),
            )
    await connection.execute(
        "update campaign_targets t set done = n.n, total = n.n"
        "  from (select target_id, count(*) n from outcomes where campaign_id = $1 group by 1) n"
        " where t.campaign_id = $1 and t.target_id = n.target_id",
        number,
    )
    return int(number)


def rows(table: Table, **given: str) -> list[dict[str, Any]]:
    return [record for record in table.records() if all(record[name] == value for name, value in given.items())]


async def tables(engine: AsyncEngine, number: int, **options: Any) -> dict[str, Table]:
    contents = await service.contents(engine, number, ReportOptions(**options))
    return {table.id: table for table in contents.tables}


async def test_verdicts_in_both_ways_of_counting(engine: AsyncEngine, connection: asyncpg.Connection[Any]) -> None:
    by_name = await tables(engine, await campaign(connection))
    plain, strict = rows(by_name["counts"], source="campaign 1", target="torch@2.9.0/xla")
    assert (plain["counted_by"], plain["partial"], plain["complete"], plain["success"]) == ("verdict", 1, 1, 1)
    assert (strict["counted_by"], strict["partial"], strict["complete"], strict["success"]) == (
        "verdict_on_device",
        *(1, 2, 0),
    )
    assert (plain["failed"], strict["failed"]) == (Rate(2, 3), Rate(3, 3))
    assert {row["cause"] for row in rows(by_name["causes"], counted_by="verdict_on_device")} == {"type", "placement"}


async def test_latencies_of_the_cases_that_both_measured(
    engine: AsyncEngine, connection: asyncpg.Connection[Any]
) -> None:
    by_name = await tables(engine, await campaign(connection))
    (one,) = rows(by_name["latencies"], function="torch.cat")
    assert (one["base"], one["other"]) == ("torch@2.9.0/cpu", "torch@2.9.0/xla")
    assert (one["base_ms"], one["other_ms"]) == (1, 4), "the best run of each"
    assert one["ratio"] == Estimate(pytest.approx(4), None, 1)
    assert (one["study_gpu_ms"], one["study_tpu_ms"]) == (0.1, 64.652)
    (fallback,) = rows(by_name["latencies"], function="torch.nonzero")
    assert (fallback["ratio"], fallback["study_ratio"]) == (Missing.not_measured, Missing.not_published)


async def test_the_studys_rule_is_the_mean_of_first_calls(
    engine: AsyncEngine, connection: asyncpg.Connection[Any]
) -> None:
    """A campaign that was timed by the study's rule is also measured by it; other campaigns only on request."""
    for number, options in (
        (await campaign(connection, timing="paper"), {}),
        (await campaign(connection), {"measure": "paper"}),
    ):
        by_name = await tables(engine, number, **options)
        (one,) = rows(by_name["intolerable_functions"], function="torch.cat", source=f"campaign {number}")
        assert (one["base_ms"], one["other_ms"]) == (15, 500)
        assert "the study's rule" in by_name["latencies"].counting_rule


async def test_failures_of_another_device_are_counted_and_rated_nowhere(
    engine: AsyncEngine, connection: asyncpg.Connection[Any]
) -> None:
    number = await campaign(connection)
    before = await service.read(engine, number, ReportOptions())
    failing_functions = {(row.target_id, row.function) for row in before.verdicts if row.anywhere.verdict == "complete"}
    assert failing_functions
    await connection.execute("update outcomes set rule = 'needs-another-device' where verdict = 'failed'")
    await connection.execute("update campaign_targets set reclassifications = reclassifications + 1")
    after = await service.read(engine, number, ReportOptions())
    assert {
        (row.target_id, row.function) for row in after.verdicts if row.of_another_device == row.anywhere.failed > 0
    } >= failing_functions
    unrated_functions = {
        (row.target_id, row.function)
        for row in after.verdicts
        if not row.is_rated and row.anywhere.verdict != "unknown"
    }
    assert unrated_functions == failing_functions
    assert not [row for row in before.verdicts if row.of_another_device]


async def test_a_campaigns_page_terminal_and_summary_give_one_rate(
    engine: AsyncEngine, connection: asyncpg.Connection[Any]
) -> None:
    number = await campaign(connection)
    for rule, rate in ((None, "1 of 3 functions"), ("needs-another-device", "1 of 2 functions")):
        await connection.execute("update outcomes set rule = $1 where verdict = 'failed'", rule)
        await connection.execute("update campaign_targets set reclassifications = reclassifications + 1")
        matrix = await results.page(engine, number, results.MatrixQuery())
        (_, xla) = [line.answer for line in (await overview(engine, number)).targets]
        assert xla is not None
        assert xla.startswith(f"{rate} pass every case")
        assert f"torch@2.9.0/xla: {xla}." in answers(matrix)
        summary = await service.summary_of(engine, number, ReportOptions(), function=None, device=None)
        sentences = [sentence for section in summary.sections for sentence in section.sentences]
        assert any(sentence.startswith(f"{rate} pass every case") for sentence in sentences)


async def test_the_query_beside_a_table_gives_the_rows_that_it_was_made_of(
    engine: AsyncEngine, connection: asyncpg.Connection[Any]
) -> None:
    number = await campaign(connection)
    for measure in MEASURES:
        read = await service.read(engine, number, ReportOptions(measure=measure))
        await require_rows_of_queries(connection, read)
        of_cases = [
            (row["target_id"], row["function"], row["milliseconds"])
            for row in await connection.fetch(read.queries.latencies)
        ]
        assert of_cases
        assert sorted(of_cases) == sorted(
            (row.target_id, row.function, value) for row in read.latencies for value in row.by_case.values()
        )
    for table in (await tables(engine, number)).values():
        assert await connection.fetch(table.query)


async def test_names_with_markup_come_through_as_they_are(
    engine: AsyncEngine, connection: asyncpg.Connection[Any]
) -> None:
    by_name = await tables(engine, await campaign(connection))
    assert rows(by_name["latencies"], function="torch.<b>x</b>")
    assert "torch.<b>x</b>" in to_csv(by_name["latencies"])
    for table in by_name.values():
        json.dumps(to_json(table), allow_nan=False)


async def test_a_campaign_without_outcomes_has_tables_that_say_so(
    engine: AsyncEngine, connection: asyncpg.Connection[Any]
) -> None:
    number = await campaign(connection, outcomes={})
    by_name = await tables(engine, number, reference="none")
    assert {record["success"] for record in by_name["portability"].records()} == {Missing.none_counted}
    assert by_name["latencies"].rows == by_name["densities"].rows == by_name["causes"].rows == ()
    assert (await tables(engine, number))["portability"].rows


async def test_a_campaign_of_which_every_job_failed_has_rates_and_causes_and_no_latency(
    engine: AsyncEngine, connection: asyncpg.Connection[Any], tmp_path: Path
) -> None:
    failing_runs: list[Stored] = [("failed", "unknown", None, None)] * 2
    number = await campaign(connection, outcomes=dict.fromkeys(OUTCOMES, failing_runs))
    by_name = await tables(engine, number, reference="none")
    counts = rows(by_name["counts"], source="campaign 1", counted_by="verdict")
    assert {(count["success"], count["partial"], count["failed"].share) for count in counts} == {(0, 0, 1.0)}
    assert {record["cause"] for record in by_name["causes"].records()} == {"type"}
    assert {record["ratio"] for record in by_name["latencies"].records()} == {Missing.not_measured}
    assert by_name["densities"].rows == ()
    await connection.execute("update campaigns set state = 'done', finished_at = now() where id = $1", number)
    await connection.execute("update campaign_targets set done = 8, failed = 8 where campaign_id = $1", number)
    assert "0 of 2 functions pass every case" in await export_report(engine, number, tmp_path)
    assert {
        target.target.device: target.functions["anywhere"]["complete"]
        for target in (await overview(engine, number)).targets
    } == {
        "cpu": 2,
        "xla": 4,
    }


async def test_functions_of_one_outcome_have_no_interval_that_nobody_could_know(
    engine: AsyncEngine, connection: asyncpg.Connection[Any], tmp_path: Path
) -> None:
    once = {
        ("cpu", "torch.cat", "one"): [("passed", "on_device", 1.0, 10.0)],
        ("xla", "torch.cat", "one"): [("passed", "on_device", 4.0, 400.0)],
    }
    number = await campaign(connection, outcomes=once)
    by_name = await tables(engine, number, reference="none")
    (one,) = rows(by_name["latencies"], function="torch.cat")
    assert one["ratio"] == Estimate(pytest.approx(4), None, 1)
    rates = [row["success"] for row in rows(by_name["portability"], counted_by="verdict")]
    assert rates == [Rate(1, 1), Rate(1, 1)]
    assert "torch.cat" in await export_report(engine, number, tmp_path)


async def export_report(engine: AsyncEngine, number: int, folder: Path) -> str:
    """Export the report as a user does."""
    renderer = Renderer(folder)
    try:
        return html(await service.report(engine, renderer, number, ReportOptions()))
    finally:
        await renderer.close()


async def test_a_reference_belongs_to_its_suite(engine: AsyncEngine, connection: asyncpg.Connection[Any]) -> None:
    number = await campaign(connection)
    assert any("paper-2023" in to_csv(table) for table in (await tables(engine, number)).values())
    await connection.execute("update campaigns set suite = 'docs'")
    assert (await service.read(engine, number, ReportOptions())).reference is None
    assert not any("paper-2023" in to_csv(table) for table in (await tables(engine, number)).values())
    message = "'paper-2023' is of the suite 'paper', and campaign [0-9]+ ran 'docs': leave the reference out"
    for reading in (service.contents, service.check):
        with pytest.raises(RequestError, match=message):
            await reading(engine, number, ReportOptions("paper-2023"))


async def test_another_device_to_set_the_others_against(
    engine: AsyncEngine, connection: asyncpg.Connection[Any]
) -> None:
    by_name = await tables(engine, await campaign(connection), reference_device="xla", reference="none")
    ((one),) = rows(by_name["latencies"], function="torch.cat")
    assert one["ratio"] == Estimate(pytest.approx(0.25), None, 1)


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        (
            {"reference_device": "tpu"},
            UnknownNameError,
            "no target of this campaign is on the device 'tpu'; choose one of: cpu, xla",
        ),
        (
            {"reference": "paper-1999"},
            UnknownNameError,
            "there is no reference 'paper-1999'; choose one of: paper-2023",
        ),
        ({"measure": "mean"}, UnknownNameError, "there is no measure 'mean'; choose one of: level, cold, paper"),
        ({"tolerable": 1.0}, RequestError, "is 1: give a factor above 1"),
        ({"tolerable": float("nan")}, RequestError, "latencies is nan: give a factor above 1"),
    ],
)
async def test_what_cannot_be_made_is_refused_in_a_line_that_helps(
    engine: AsyncEngine, connection: asyncpg.Connection[Any], options: dict[str, Any], error: type[Exception], says: str
) -> None:
    number = await campaign(connection)
    with pytest.raises(error, match=says):
        await tables(engine, number, **options)


async def test_an_unknown_campaign(engine: AsyncEngine) -> None:
    with pytest.raises(NotFoundError):
        await tables(engine, 99)
