"""A table has the same content in the terminal, as CSV and as JSON."""

from __future__ import annotations

import csv
import io
import json

import pytest
from rich.console import Console

from coordinator.reference.reader import read
from coordinator.reports.contents import contents_of
from coordinator.reports.options import ReportOptions
from coordinator.reports.table import Cell, Column, Kind, Missing, Table
from coordinator.reports.table_renderer import cell_text, from_json, to_csv, to_json, to_terminal
from coordinator.results.statistics import Estimate, Rate
from tests.unit.coordinator.reports.charting import CPU, XLA, report_data

TABLE = Table(
    id="portability",
    title="Portability",
    columns=(
        Column("target", "target"),
        Column("failed", "failed", "rate"),
        Column("ratio", "times slower", "ratio"),
        Column("latency_ms", "latency", "milliseconds", "ms"),
    ),
    rows=(
        ("[red]torch[/red]@2, “x”", Rate(28, 63), Estimate(2.5, (1.25, 5.0), 7), 0.1234567),
        ("paper", 44.0, Missing.not_published, None),
    ),
    notes=("a note",),
    counting_rule="the rule",
    revisions=("suite paper, revision r1",),
    query="SELECT 1",
    remade_from=("table-1",),
)


def terminal_text(table: Table) -> str:
    console = Console(file=io.StringIO(), width=160, markup=True, emoji=True)
    console.print(to_terminal(table))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_csv_is_exact_and_gives_a_figure_columns_for_its_interval_and_n() -> None:
    rows = list(csv.DictReader(io.StringIO(to_csv(TABLE))))
    assert list(rows[0]) == [
        *("target", "failed", "failed_low", "failed_high", "failed_count", "failed_n"),
        *("ratio", "ratio_low", "ratio_high", "ratio_n", "latency_ms"),
    ]
    assert rows[0]["target"] == "[red]torch[/red]@2, “x”"
    assert float(rows[0]["failed"]) == pytest.approx(100 * 28 / 63)
    assert (rows[0]["failed_count"], rows[0]["failed_n"]) == ("28", "63")
    assert [rows[0][name] for name in ("ratio", "ratio_low", "ratio_high", "ratio_n")] == ["2.5", "1.25", "5.0", "7"]
    assert rows[0]["latency_ms"] == "0.1234567"
    assert [*rows[1].values()] == ["paper", "44.0", "", "", "", "", "not published", "", "", "", ""]


def test_json_holds_all_that_stands_with_the_table() -> None:
    document = json.loads(json.dumps(to_json(TABLE), allow_nan=False))
    assert document["rows"][0]["failed"]["count"] == 28
    assert document["rows"][0]["ratio"] == {"value": 2.5, "low": 1.25, "high": 5.0, "n": 7}
    assert document["rows"][1] == {"target": "paper", "failed": 44.0, "ratio": "not published", "latency_ms": None}
    assert (document["notes"], document["counting_rule"], document["query"]) == (["a note"], "the rule", "SELECT 1")


def test_the_terminal_shows_names_with_markup_as_they_are_and_every_sentence() -> None:
    text = terminal_text(TABLE)
    assert "[red]torch[/red]@2" in text
    for cell in (
        "Portability",
        "44.4 % (28/63; 33 to 57)",
        "2.5 (1.25 to 5; n 7)",
        "a note",
        "the rule",
        "revision r1",
    ):
        assert cell in text


def test_an_empty_table_says_so() -> None:
    empty = Table("x", "X", TABLE.columns, (), (), "", (), "")
    assert "no rows" in terminal_text(empty)
    assert to_csv(empty).count("\n") == 1
    assert to_json(empty)["rows"] == []


@pytest.mark.parametrize(
    ("cell", "kind", "text"),
    [
        (57.0, "rate", "57 %"),
        (0.05, "rate", "0.05 %"),
        (Rate(0, 0), "rate", "none counted"),
        (Estimate(None, None, 0), "ratio", "not measured"),
        (Estimate(3.14159, None, 2), "ratio", "3.14 (n 2)"),
        (6039.554, "ratio", "6,040"),
        (0.000123456, "milliseconds", "0.000123"),
        (1234, "number", "1,234"),
        (None, "text", ""),
        (Missing.host_only, "ratio", "host only"),
        ("verdict_on_device", "rule", "on device"),
    ],
)
def test_what_people_see_is_rounded_to_what_it_can_say(cell: Cell, kind: Kind, text: str) -> None:
    assert cell_text(cell, kind) == text


def test_a_row_that_does_not_fit_its_columns_is_a_mistake_found_at_once() -> None:
    with pytest.raises(ValueError, match="a row of 1 cells under 4 columns"):
        Table("x", "X", TABLE.columns, (("alone",),), (), "", (), "")


def test_a_table_read_from_its_json_is_the_same() -> None:
    for table in contents_of(report_data([CPU, XLA], reference=read()), ReportOptions()).tables:
        assert from_json(json.loads(json.dumps(to_json(table)))) == table
