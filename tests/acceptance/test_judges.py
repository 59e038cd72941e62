"""Which references judged a campaign's cases, and with which kinds of input functions fail, is equal on every
surface."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator

import asyncpg
import pytest

from tests.acceptance.test_one_read_side import Run, World, campaign, serve_world, text_of

CPU = "a fast CPU"
RIGHT = [Run(1.0, 2.0), Run(1.0, 2.0)]
WRONG = [Run(verdict="failed", cause="type"), Run(1.0, 2.0)]
CASES = {
    "torch.sum/0": (RIGHT, ["plain", "judged-by-numpy"]),
    "torch.sum/1": (WRONG, ["empty", "broadcast", "judged-by-numpy"]),
    "torch.sum/2": (WRONG, ["0-dim", "judged-by-float64"]),
    "torch.sum/3": (RIGHT, ["broadcast", "judged-by-decomposition"]),
    # Only what is not independent fails.
    "torch.add/0": (RIGHT, ["plain", "real", "judged-by-numpy"]),
    "torch.add/1": (WRONG, ["plain", "integer", "judged-by-itself"]),
    "torch.rand/0": (RIGHT, ["no-array", "form-only", "random"]),
    "torch.exp/0": (RIGHT, []),
}
FAILS = {"torch.sum": "only on empty and 0-dim input", "torch.add": "on some plain input", "torch.exp": None}
INDEPENDENT = {
    "torch.sum": ("partial", 2, 3),
    "torch.add": ("success", 1, 1),
    "torch.rand": ("unknown", 0, 0),
    "torch.exp": ("unknown", 0, 0),
}
SENTENCE = (
    "Of 8 cases that ran, 3 by numpy, 1 by decomposition, 1 by float64, 1 by itself and 1 by form: 2 of 4 functions "
    "(50 %) have a case that an independent reference judged."
)


async def fill(dsn: str) -> dict[str, int]:
    connection = await asyncpg.connect(dsn)
    await connection.execute("insert into fingerprints (id, body) values ('harbour', '{}')")
    target = await connection.fetchval(
        "insert into targets (framework, version, device, device_class, hardware, environment)"
        " values ('torch', '2.9.0', 'cpu', 'cpu', $1, 'e') returning id",
        CPU,
    )
    outcomes = {(case, CPU): runs for case, (runs, _) in CASES.items()}
    await campaign(connection, "first", "library", {CPU: target}, outcomes)
    for case, (_, tags) in CASES.items():
        await connection.execute("update cases set tags = $2 where name = $1", case, json.dumps(tags))
    await connection.close()
    return {CPU: target}


@pytest.fixture(scope="module")
def world(new_database: Callable[..., str]) -> Iterator[World]:
    with serve_world(new_database(), fill) as world:
        yield world


def test_a_matrix_of_independent_references_alone(world: World) -> None:
    rows = world.get("/campaigns/1/matrix", rule="independent")["rows"]
    (cells,) = zip(*(row["cells"].values() for row in rows), strict=True)
    counts_by_function = {cell["function"]: cell["counts"]["independent"] for cell in cells}
    assert {
        function: (counts["verdict"], counts["passed"], counts["total"])
        for function, counts in counts_by_function.items()
    } == INDEPENDENT
    views = world.rows("select * from function_verdicts where campaign_id = 1")
    assert {
        row["function"]: (row["verdict_independent"], row["passed_independent"], row["total_independent"])
        for row in views
    } == INDEPENDENT
    for query, expected_functions in (
        ("passes:", ["torch.add"]),
        ("fails:", ["torch.sum"]),
        ("cause:type", ["torch.sum"]),
    ):
        rows = world.get("/campaigns/1/matrix", rule="independent", q=query)["rows"]
        assert [row["function"] for row in rows] == expected_functions, query
    page = text_of(world.page("/campaigns/1/matrix?rule=independent"))
    assert "add 1/1" in page
    assert "anywhere: 1/2" in page


def test_a_function_that_fails_in_part_says_on_which_kinds_of_input(world: World) -> None:
    matrix = text_of(world.page("/campaigns/1/matrix"))
    answer = world.coordinator.http.get(f"{world.coordinator.url}/campaigns/1/matrix", params={"as": "csv"})
    lines = {line["function"]: line["fails_on"] for line in csv.DictReader(io.StringIO(answer.text))}
    output = world.run_command("results", "1")
    for function, words in FAILS.items():
        page = text_of(world.page(f"/campaigns/1/functions/torch/{function}"))
        assert lines[function] == (words or "")
        if words is None:
            assert "fails" not in page
            continue
        for surface in (matrix, page, output):
            assert f"fails {words}" in surface, function


def test_who_judged_a_case_is_on_its_pages_and_in_every_export(world: World) -> None:
    expected_judges = {
        "torch.sum/1": ("numpy", "empty broadcast"),
        "torch.sum/2": ("float64", "0-dim"),
        "torch.rand/0": ("form", "no-array"),
        "torch.exp/0": (None, None),
    }
    rows = world.get("/campaigns/1/outcomes")["outcomes"]
    table = world.coordinator.http.get("/campaigns/1/outcomes", params={"format": "csv"})
    csv_rows = list(csv.DictReader(io.StringIO(table.text)))
    for row, line in zip(rows, csv_rows, strict=True):
        if row["case"] in expected_judges:
            assert (row["judged_by"], row["input_kinds"]) == expected_judges[row["case"]]
        assert (line["judged_by"], line["input_kinds"]) == (row["judged_by"] or "", row["input_kinds"] or "")
    assert {row["case"] for row in world.get("/campaigns/1/outcomes", judged_by="numpy")["outcomes"]} == {
        "torch.sum/0", "torch.sum/1", "torch.add/0",
    }  # fmt: skip
    function = text_of(world.page("/campaigns/1/functions/torch/torch.sum"))
    assert "empty broadcast input, judged by numpy" in function
    (job,) = {row["job_id"] for row in rows if (row["case"], row["run"]) == ("torch.sum/2", 1)}
    outcome = text_of(world.page(f"/campaigns/1/outcomes/{job}"))
    assert "Judged by float64 (the same function on the CPU in float64: not independent)" in outcome
    records = world.coordinator.http.get(
        f"{world.coordinator.url}/campaigns/1/functions/torch/torch.sum", params={"as": "csv"}
    )
    assert {line["judged_by"] for line in csv.DictReader(io.StringIO(records.text))} == {
        "numpy", "float64", "decomposition",
    }  # fmt: skip


def test_the_command_line_too_has_the_cases_alone_that_an_independent_reference_judged(world: World) -> None:
    rest = world.get("/campaigns/1/outcomes", rule="independent")["outcomes"]
    assert {row["judged_by"] for row in rest} == {"numpy", "decomposition"}
    assert json.loads(world.run_command("results", "1", "--rule", "independent", "--format", "json")) == rest
    output, whole = world.run_command("results", "1", "--rule", "independent"), world.run_command("results", "1")
    assert "only cases with an independent reference count" in output
    assert "reference count" not in whole
    for row in world.get("/campaigns/1/matrix", rule="independent")["rows"]:
        for cell in row["cells"].values():
            counts = cell["counts"]["independent"]
            assert f"{counts['passed']}/{counts['total']}" in output


def test_the_summary_counts_functions_and_cases_by_judge(world: World) -> None:
    assert SENTENCE in world.get("/campaigns/1/summary")["sections"][0]["sentences"]
    assert SENTENCE in world.run_command("results", "1")
    assert SENTENCE in text_of(world.page("/campaigns/1/report"))
    table = world.get("/campaigns/1/tables/judges")
    assert [(row["judged_by"], row["cases"], row["functions"]) for row in table["rows"]] == [
        ("numpy", 3, 2), ("decomposition", 1, 1), ("float64", 1, 1), ("itself", 1, 1), ("form", 1, 1),
    ]  # fmt: skip
    assert len(world.rows(table["query"])) == 7, "a function and judge a row"
