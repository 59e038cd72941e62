"""A target whose programs are lowered and not run: every surface shows the same rate in the same words.

The campaign also has a target whose cases ran. Figures of one target must not appear in those of the other.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import asyncpg
import pytest

from tests.acceptance.test_one_read_side import Run, World, campaign, serve_world, text_of

RAN, NOT_RUN = "a fast CPU", "a slow CPU"
"""The hardware of the target whose cases ran, and of the target whose programs were only lowered."""
LOWERED = Run(verdict="skipped", cause="lowered", placement="unknown")
LACKING = Run(verdict="skipped", cause="not_lowered", placement="unknown")
NOTHING = Run(verdict="skipped", cause="not_applicable", placement="unknown")
RATE = "2 of 3 functions without a missing lowering (67 %)."
WORDS = "not lowered: geqp3 (2 of 3 cases)"
WHOLE = "jax@0.10.2/tpu-lowered"


def outcomes() -> dict[tuple[str, str], list[Run]]:
    ran = [Run(1.0, 2.0), Run(1.0, 2.0)]
    cases = {
        "jax.sin/0": LOWERED, "jax.cos/0": LOWERED, "jax.cos/1": NOTHING, "jax.qr/0": LOWERED, "jax.qr/1": LACKING,
        "jax.qr/2": LACKING, "jax.typeof/0": NOTHING,
    }  # fmt: skip
    runs = {(case, NOT_RUN): [run, run] for case, run in cases.items()}
    return runs | {(case, RAN): ran for case in cases}


async def fill(dsn: str) -> dict[str, int]:
    connection = await asyncpg.connect(dsn)
    for host in ("harbour", "pier"):
        await connection.execute(
            "insert into fingerprints (id, body) values ($1, $2)", host, json.dumps({"host": host})
        )
    targets = {
        hardware: await connection.fetchval(
            "insert into targets (framework, version, device, device_class, hardware, environment, notes)"
            " values ('jax', '0.10.2', $1, $2, $3, 'e', $4) returning id",
            *(device, kind, hardware, json.dumps(notes)),
        )
        for hardware, device, kind, notes in (
            (RAN, "cpu", "cpu", []),
            (NOT_RUN, "tpu-lowered", "other", ["lowered for TPU on the host CPU, not run"]),
        )
    }
    await campaign(connection, "first", "library", targets, outcomes())
    await campaign(connection, "second", "library", targets, outcomes())
    await connection.execute("update suites set framework = 'jax'")
    await connection.execute(
        "update outcomes set ending = cause, evidence = case when cause = 'not_lowered' then $1::jsonb end"
        " where cause in ('lowered', 'not_lowered')",
        json.dumps({"operation": "geqp3", "kernels": "none"}),
    )
    await connection.close()
    return targets


@pytest.fixture(scope="module")
def world(new_database: Callable[..., str]) -> Iterator[World]:
    with serve_world(new_database(), fill) as world:
        yield world


def test_it_is_in_no_denominator_and_has_no_latency(world: World) -> None:
    target = world.targets[NOT_RUN]
    rows = {row["function"]: row for row in world.rows(f"select * from function_verdicts where target_id = {target}")}
    assert {(row["verdict"], row["verdict_on_device"], row["total"], row["passed"]) for row in rows.values()} == {
        ("unknown", "unknown", 0, 0)
    }
    assert {name: (row["lowered"], row["not_lowered"], row["lowering"]) for name, row in rows.items()} == {
        "jax.sin": (1, 0, "lowered"),
        "jax.cos": (1, 0, "lowered"),
        "jax.qr": (1, 2, "not_lowered"),
        "jax.typeof": (0, 0, None),
    }
    assert (rows["jax.qr"]["missing_lowering"], rows["jax.qr"]["not_counted_cause"]) == ("geqp3", "not_lowered")
    for view in ("case_latencies", "function_latencies", "function_ratios", "cpu_bases"):
        assert not world.rows(f"select * from {view} where target_id = {target}"), view
    ran = world.rows(f"select * from function_verdicts where target_id = {world.targets[RAN]}")
    assert {(row["lowered"], row["not_lowered"], row["lowering"]) for row in ran} == {(0, 0, None)}


def test_its_rate_is_one_sentence_on_every_surface(world: World) -> None:
    sections = {section["heading"]: section["sentences"] for section in world.get("/campaigns/1/summary")["sections"]}
    assert f"Lowered, not run: {RATE}" in sections[WHOLE]
    assert not any("pass every case" in sentence for sentence in sections[WHOLE])
    assert f"Functions without a lowering: jax.qr ({WORDS})." in sections[WHOLE]
    assert any(sentence.startswith("1 function has no verdict") for sentence in sections[WHOLE])
    assert not any("No job passed" in sentence for sentence in sections["first"])
    assert not any("owered" in sentence for sentence in sections["jax@0.10.2/cpu"])
    assert RATE in world.run_command("results", "1")
    for path in ("/campaigns/1", "/campaigns/1/report"):
        assert RATE in text_of(world.page(path)), path
    (whole, lacking) = world.get("/campaigns/1/tables/lowerings", reference="none")["rows"]
    assert (whole["function"], whole["lowered"]["count"], whole["lowered"]["n"]) == ("every function", 2, 3)
    assert (lacking["function"], lacking["lowering"]) == ("jax.qr", WORDS)


def test_what_lacks_a_lowering_is_said_in_one_way_where_functions_stand(world: World) -> None:
    (cell,) = [
        row["cells"][str(world.targets[NOT_RUN])]
        for row in world.get("/campaigns/1/matrix")["rows"]
        if row["function"] == "jax.qr"
    ]
    assert (cell["lowering"], cell["missing_lowering"], cell["lowered"], cell["not_lowered"]) == (
        "not_lowered",
        "geqp3",
        1,
        2,
    )
    terminal = world.run_command("results", "1")
    assert WORDS in terminal
    assert "lowered, not run" in terminal
    for path in ("/campaigns/1/matrix", "/campaigns/1/functions/jax/jax.qr", "/campaigns/1/report"):
        page = text_of(world.page(path))
        assert WORDS in page, path
        assert "lowered, not run" in page, path
    only = text_of(world.page("/campaigns/1/matrix?q=not-lowered:tpu-lowered"))
    assert WORDS in only
    assert "1 of 4 functions" in only
    rows = world.get("/campaigns/1/matrix", q="not-lowered:tpu-lowered")["rows"]
    assert [row["function"] for row in rows] == ["jax.qr"]


def test_tables_of_verdicts_placements_and_latencies_leave_it_out(world: World) -> None:
    for table in ("portability", "counts", "causes", "placement", "latencies", "scatter", "densities", "first_calls"):
        rows = world.get(f"/campaigns/1/tables/{table}", reference="none")["rows"]
        assert not [row for row in rows if any("lowered" in str(value) for value in row.values())], table


def test_comparisons_leave_it_out_and_say_why(world: World) -> None:
    comparison = world.get("/compare", a="1", b="2")
    assert [pair["a"]["target"] for pair in comparison["pairs"]] == ["jax@0.10.2/cpu"]
    assert {(omission["target"], omission["why"]) for omission in comparison["left_out"]} == {
        (WHOLE, "lowered, not run: its results are not compared")
    }
