"""The stored matrix equals the views at the time that it states, and queries find the right cells."""

from __future__ import annotations

import asyncio
import random
from dataclasses import fields
from typing import Any

import asyncpg
import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from coordinator.errors import QueryError
from coordinator.figures.counting import ANYWHERE, NAMES, RULES, CountingRule, Counts
from coordinator.results import refresh_store, service
from coordinator.results.models import Cell
from coordinator.results.service import MatrixQuery

FUNCTIONS = ("torch.cat", "torch.nonzero", "torch.nn.relu", "torch.nn.init_", "torch.<b>x</b>", "lone")
DEVICES = ("cpu", "xla", "cuda")
CASES = 3
RUNS = 2

LIKE_THE_VIEW = (
    "verdict", "verdict_on_device", "passed", "failed", "total", "skipped", "incomplete", "flaky", "fell_back",
    "passed_on_device", "total_on_device", "cause", "cause_on_device", "not_counted_cause",
    "host_only",
)  # fmt: skip


async def campaign(connection: asyncpg.Connection[Any], seed: int) -> int:
    """A campaign with random outcomes of every kind on three targets."""
    draw = random.Random(seed)
    suite = await connection.fetchval(
        "insert into suites (name, framework, revision, digest) values ('paper', 'torch', $1, '') returning id",
        f"r{seed}",
    )
    number = await connection.fetchval(
        "insert into campaigns (name, suite, selectors, functions, runs, timeout_s, timing)"
        " values ('c', 'paper', '[]', '[]', 2, 900, 'steady') returning id"
    )
    cases = [
        (
            name,
            await connection.fetchval(
                "insert into cases (suite_id, name, function, host_only, position) values ($1, $2, $3, $4, $5)"
                " returning id",
                *(suite, f"{name}/{case}", name, "no device" if name == "lone" else None, place * CASES + case),
            ),
        )
        for place, name in enumerate(FUNCTIONS)
        for case in range(CASES)
    ]
    for device in DEVICES:
        target = await connection.fetchval(
            "insert into targets (framework, version, device, device_class, hardware, environment)"
            " values ('torch', '2.9.0', $1, 'cpu', 'a CPU', 'e')"
            " on conflict (framework, version, device, hardware, environment) do update set device_class = 'cpu'"
            " returning id",
            device,
        )
        await connection.execute(
            "insert into campaign_targets (campaign_id, target_id, suite_id, total) values ($1, $2, $3, $4)",
            *(number, target, suite, len(cases) * RUNS),
        )
        for name, case in cases:
            weights = draw.choice([(1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 1), (6, 3, 1, 1)])
            for run in range(1, RUNS + 1):
                await outcome(connection, draw, (number, target, case, run), weights, host=name == "lone")
    return int(number)


async def outcome(
    connection: asyncpg.Connection[Any],
    draw: random.Random,
    of: tuple[int, int, int, int],
    weights: tuple[int, ...] = (0, 1, 0, 0),
    *,
    host: bool = False,
) -> None:
    verdict = draw.choices(["passed", "failed", "skipped", "incomplete"], weights)[0]
    placement = "host_only" if host else draw.choices(["on_device", "fell_back", "unknown"], (4, 1, 1))[0]
    job = await connection.fetchval(
        "insert into jobs (campaign_id, target_id, case_id, run, priority, state)"
        " values ($1, $2, $3, $4, 0, 'done') returning id",
        *of,
    )
    await connection.execute(
        "insert into outcomes (job_id, attempt, campaign_id, target_id, case_id, run, verdict, ending, cause,"
        " placement, steady_ms, cold_ms, duration_s) values ($1, 1, $2, $3, $4, $5, $6, 'returned', $7, $8, $9, 1, 1)",
        *(job, *of, verdict),
        None if verdict == "passed" else draw.choice(["type", "memory", "timeout"]),
        *(placement, draw.uniform(0.1, 50)),
    )
    await connection.execute(
        "update campaign_targets set done = done + 1 where campaign_id = $1 and target_id = $2", *of[:2]
    )


async def read_matrix(
    engine: AsyncEngine, number: int, query: str = "", rule: CountingRule = ANYWHERE
) -> dict[str, dict[str, Cell]]:
    part = await service.page(engine, number, MatrixQuery(query, rule))
    devices = {target.id: target.device for target in part.targets}
    return {row.function: {devices[target]: cell for target, cell in row.cells.items()} for row in part.rows}


async def test_every_cell_is_what_the_views_say(engine: AsyncEngine, connection: asyncpg.Connection[Any]) -> None:
    number = await campaign(connection, 1)
    matrix = await read_matrix(engine, number)
    rows_of_view = await connection.fetch("select * from function_verdicts where campaign_id = $1", number)
    assert len(rows_of_view) == len(FUNCTIONS) * len(DEVICES) == sum(map(len, matrix.values()))
    for row in rows_of_view:
        cell = matrix[row["function"]][row["device"]]
        columns = cell.columns()
        assert {name: columns[name] for name in LIKE_THE_VIEW} == {name: row[name] for name in LIKE_THE_VIEW}
        assert columns["unknown_on_device"] == row["unknown_placement"]
    by_rule = await connection.fetch("select * from function_counts where campaign_id = $1", number)
    for function, cells in matrix.items():
        for device, cell in cells.items():
            rows = [row for row in by_rule if (row["function"], row["device"]) == (function, device)]
            assert cell.counts == {
                row["rule"]: Counts(**{field.name: row[field.name] for field in fields(Counts)}) for row in rows
            }
            on_device = {rule.name for rule in RULES if rule.on_device}
            assert set(cell.counts) == {*NAMES} - (on_device if cell.host_only else set())
    for row in await connection.fetch("select * from function_latencies where campaign_id = $1", number):
        cell = matrix[row["function"]][row["device"]]
        assert (cell.cold_ms, cell.steady_ms) == (row["cold_ms"], row["steady_ms"])
    rows = await connection.fetch("select * from function_ratios where campaign_id = $1", number)
    told_ratios = {(row["function"], row["target_id"]): (row["ratio"], row["cases"]) for row in rows}
    shown_ratios = {
        (function, cell.target_id): (pytest.approx(cell.ratio_to_cpu), cell.ratio_cases)
        for function, cells in matrix.items()
        for cell in cells.values()
        if cell.ratio_to_cpu is not None
    }
    assert told_ratios
    assert told_ratios == shown_ratios


async def test_of_two_cpu_machines_one_is_the_base_and_simulated_targets_have_none(
    engine: AsyncEngine, connection: asyncpg.Connection[Any]
) -> None:
    number = await campaign(connection, 10)
    before = {name: cells["xla"].ratio_to_cpu for name, cells in (await read_matrix(engine, number)).items()}
    (cpu,) = [target.id for target in await service.targets(engine, number) if target.device == "cpu"]
    # Another CPU machine, on which everything takes a hundred times as long.
    other = await connection.fetchval(
        "insert into targets (framework, version, device, device_class, hardware, environment)"
        " values ('torch', '2.9.0', 'cpu', 'cpu', 'a slow CPU', 'e') returning id"
    )
    await connection.execute(
        "insert into campaign_targets (campaign_id, target_id, suite_id, total, done)"
        " select campaign_id, $1, suite_id, total, 1 from campaign_targets where campaign_id = $2 and target_id = $3",
        *(other, number, cpu),
    )
    await connection.execute(
        "with j as (insert into jobs (campaign_id, target_id, case_id, run, priority, state)"
        " select campaign_id, $1, case_id, run, 0, 'done' from jobs where campaign_id = $2 and target_id = $3"
        " returning *)"
        " insert into outcomes (job_id, attempt, campaign_id, target_id, case_id, run, verdict, ending, placement,"
        " steady_ms, cold_ms, duration_s) select j.id, 1, j.campaign_id, $1, j.case_id, j.run, 'passed', 'returned',"
        " 'on_device', 5000, 1, 1 from j",
        *(other, number, cpu),
    )
    cells = await read_matrix(engine, number)
    assert {name: row["xla"].ratio_to_cpu for name, row in cells.items()} == before
    assert {row["xla"].cpu_target_id for row in cells.values()} == {cpu, None}
    assert not any(row["cpu"].ratio_to_cpu for row in cells.values())
    await connection.execute("update targets set simulated = true where device = 'xla'")
    await connection.execute("update matrices set definition = '' where campaign_id = $1", number)
    assert {row["xla"].ratio_to_cpu for row in (await read_matrix(engine, number)).values()} == {None}


async def test_rows_stand_by_module_and_in_parts(engine: AsyncEngine, connection: asyncpg.Connection[Any]) -> None:
    number = await campaign(connection, 2)
    whole = await service.page(engine, number, MatrixQuery())
    assert [(module.name, module.functions, module.first) for module in whole.modules] == [
        ("", 1, 0),
        ("torch", 3, 1),
        ("torch.nn", 2, 4),
    ]
    parts = [await service.page(engine, number, MatrixQuery(offset=offset, limit=4)) for offset in (0, 4, 8)]
    assert [len(part.rows) for part in parts] == [4, 2, 0]
    assert [row for part in parts for row in part.rows] == whole.rows
    assert {part.found for part in parts} == {6}


VERDICT_WORDS = {
    "fails": ("partial", "complete"),
    "passes": ("success",),
    "partial": ("partial",),
    "complete": ("complete",),
    "unknown": ("unknown",),
}


@pytest.mark.parametrize("rule", RULES, ids=NAMES)
async def test_a_query_finds_exactly_what_it_asks_for(
    engine: AsyncEngine, connection: asyncpg.Connection[Any], rule: CountingRule
) -> None:
    number = await campaign(connection, 3)
    everything = await read_matrix(engine, number)

    def verdict(cell: Cell) -> str | None:
        return cell.verdict_by(rule)

    def cause(cell: Cell) -> str | None:
        if cell.anywhere.total == 0:
            return cell.not_counted_cause
        counts = cell.by(rule)
        return counts and counts.cause

    async def find(query: str) -> set[str]:
        return set(await read_matrix(engine, number, query, rule))

    for key, words in VERDICT_WORDS.items():
        for device in DEVICES:
            expected_names = {name for name, cells in everything.items() if verdict(cells[device]) in words}
            assert await find(f"{key}:{device}") == expected_names
            assert await find(f"-{key}:torch@2/{device}") == set(everything) - expected_names
        assert await find(f"{key}:") == {
            name for name, cells in everything.items() if any(verdict(cell) in words for cell in cells.values())
        }
    for word in ("type", "memory", "placement"):
        assert await find(f"cause:xla={word}") == {
            name for name, cells in everything.items() if cause(cells["xla"]) == word
        }
    assert await find("slower:xla>1.5") == {
        name for name, cells in everything.items() if (cells["xla"].ratio_to_cpu or 0) > 1.5
    }
    assert await find("falls-back:cuda flaky:") == {
        name
        for name, cells in everything.items()
        if cells["cuda"].fell_back and any(cell.flaky for cell in cells.values())
    }
    assert await find("fails:xla -fails:cpu torch.*") == {
        name
        for name, cells in everything.items()
        if verdict(cells["xla"]) in VERDICT_WORDS["fails"]
        and verdict(cells["cpu"]) not in VERDICT_WORDS["fails"]
        and name.startswith("torch.")
    }


async def test_names_are_taken_literally_but_for_stars_and_question_marks(
    engine: AsyncEngine, connection: asyncpg.Connection[Any]
) -> None:
    number = await campaign(connection, 4)
    for query, expected_names in {
        "RELU": {"torch.nn.relu"},
        "init_": {"torch.nn.init_"},
        "torch.nn.*": {"torch.nn.relu", "torch.nn.init_"},
        "torch.?at": {"torch.cat"},
        "%": set(),
        "<b>": {"torch.<b>x</b>"},
        "module:torch": {"torch.cat", "torch.nonzero", "torch.<b>x</b>"},
        "module:torch* -nn": {"torch.cat", "torch.nonzero", "torch.<b>x</b>"},
        "'; drop": set(),
    }.items():
        assert set(await read_matrix(engine, number, query)) == expected_names, query
    with pytest.raises(QueryError, match=r"name one of: torch@2\.9\.0/cpu"):
        await read_matrix(engine, number, "fails:tpu")


async def test_what_comes_in_or_is_named_anew_shows_at_the_next_look(
    engine: AsyncEngine, connection: asyncpg.Connection[Any]
) -> None:
    from coordinator.causes.service import override_outcome
    from protocol.enums import Cause

    number = await campaign(connection, 5)
    await connection.execute("update campaigns set state = 'done' where id = $1", number)
    await read_matrix(engine, number)
    assert (await service.ensure_fresh(engine, number)).current
    row = await connection.fetchrow(
        "select o.*, c.function, t.device from outcomes o join cases c on c.id = o.case_id"
        " join targets t on t.id = o.target_id where campaign_id = $1 and verdict = 'failed' limit 1",
        number,
    )
    assert row is not None
    await override_outcome(engine, number, row["job_id"], Cause.environment, "Ada", "it lacks a package")
    after = await read_matrix(engine, number)
    counts_row = await connection.fetchrow(
        "select * from function_verdicts where campaign_id = $1 and function = $2 and device = $3",
        *(number, row["function"], row["device"]),
    )
    cell = after[row["function"]][row["device"]]
    assert counts_row is not None
    assert (cell.incomplete, cell.anywhere.failed, cell.not_counted_cause) == (
        counts_row["incomplete"],
        counts_row["failed"],
        counts_row["not_counted_cause"],
    )
    await outcome(connection, random.Random(9), (number, row["target_id"], row["case_id"], 3))
    again = (await read_matrix(engine, number))[row["function"]][row["device"]]
    assert again.anywhere.failed == counts_row["failed"] + 1


async def test_a_large_campaign_is_added_up_beside_its_readers(
    engine: AsyncEngine, connection: asyncpg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "SMALL", 10)
    number = await campaign(connection, 6)
    part = await service.page(engine, number, MatrixQuery())
    assert (part.rows, part.freshness.outcomes, part.freshness.current) == ([], 0, False)
    assert part.freshness.of == len(FUNCTIONS) * len(DEVICES) * CASES * RUNS
    await asyncio.gather(service.refresh_outdated(engine), service.refresh_outdated(engine))
    part = await service.page(engine, number, MatrixQuery())
    assert (len(part.rows), part.freshness.current) == (len(FUNCTIONS), True)
    async with engine.connect() as reader:
        assert list(await refresh_store.outdated_campaigns(reader)) == []


async def test_a_campaign_without_any_outcome_has_an_empty_matrix(
    engine: AsyncEngine, connection: asyncpg.Connection[Any]
) -> None:
    number = await connection.fetchval(
        "insert into campaigns (name, suite, selectors, functions, runs, timeout_s, timing)"
        " values ('c', 'paper', '[]', '[]', 2, 900, 'steady') returning id"
    )
    part = await service.page(engine, number, MatrixQuery("torch.*"))
    assert (part.rows, part.found, part.freshness.current) == ([], 0, True)


async def test_versions_stand_in_the_order_of_their_numbers(
    engine: AsyncEngine, connection: asyncpg.Connection[Any]
) -> None:
    number = await campaign(connection, 7)
    versions = ("2.10.0", "2.10.0.dev20260101+git1234567890123456789012345", "2.2", "nightly", "10", "2.9.1+cpu")
    for version in versions:
        await connection.execute(
            "with target as (insert into targets (framework, version, device, device_class, hardware, environment)"
            " values ('torch', $2, 'cuda', 'gpu', 'a GPU', 'e') returning id)"
            " insert into campaign_targets (campaign_id, target_id, suite_id, total)"
            " select $1, target.id, suite_id, 0 from target, campaign_targets where campaign_id = $1 limit 1",
            *(number, version),
        )
    versions_in_order = [target.version for target in await service.targets(engine, number) if target.device == "cuda"]
    assert versions_in_order == ["nightly", "2.2", "2.9.0", "2.9.1+cpu", versions[0], versions[1], "10"]


async def test_the_newest_failures_are_those_that_ended_last(
    engine: AsyncEngine, connection: asyncpg.Connection[Any]
) -> None:
    from coordinator.campaigns.service import failures

    number = await campaign(connection, 8)
    # Not in the order of their jobs.
    await connection.execute(
        "update outcomes set finished_at = now() - (job_id * 37 % 101) * interval '1 second' where campaign_id = $1",
        number,
    )
    rows_of_view = await connection.fetch(
        "select job_id from outcomes where campaign_id = $1 and verdict = 'failed'"
        " order by finished_at desc, job_id desc limit 5",
        number,
    )
    assert [failure.job_id for failure in await failures(engine, number, 5)] == [row["job_id"] for row in rows_of_view]
    assert len(rows_of_view) == 5
