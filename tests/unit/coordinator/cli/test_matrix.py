"""The matrix on the terminal shows the figures of its cells, in the words of the pages."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from coordinator.cli.matrix_printer import answers, fields, of_interest, print_matrix, remark
from coordinator.results.models import Cell, Freshness, MatrixPage, MatrixRow
from coordinator.targets.models import notes
from tests.unit.coordinator import cells
from tests.unit.coordinator.cells import counts, target

CPU, XLA = 1, 2


def cell(verdict: str, passes: int, total: int, cause: str | None = None, **more: Any) -> Cell:
    return cells.cell(counts(verdict, passes, total, cause), **more)


FELL_BACK = counts("complete", 0, 3, "placement")


@pytest.fixture
def matrix() -> MatrixPage:
    """A matrix with two targets. On one, everything passes; the other falls back, fails, and lacks a function."""
    rows = {
        "torch.cat": {
            CPU: cell("success", 9, 9, first_cold_ms=0.05, low_ms=0.01),
            XLA: cell(
                "partial", 7, 9, cause="type", unknown_cause=1, first_cold_ms=20.0, low_ms=0.05, ratio_to_cpu=5.0
            ),
        },
        "torch.nonzero": {
            CPU: cell("success", 3, 3),
            XLA: cell("success", 3, 3, on_device=FELL_BACK, fell_back=3),
        },
        "torch.gone": {XLA: cell("unknown", 0, 0, skipped=2, not_counted_cause="removed")},
        "torch.lt": {XLA: cell("success", 2, 2, ratio_to_cpu=0.5)},
    }
    return MatrixPage(
        campaign_id=1,
        name="c",
        suite="paper",
        state="done",
        rule="anywhere",
        query="",
        freshness=Freshness(outcomes=9, of=9, at=None, current=True),
        targets=[target(CPU, "cpu"), target(XLA, "xla")],
        modules=[],
        found=len(rows),
        functions=len(rows),
        offset=0,
        rows=[
            MatrixRow(framework="torch", module="torch", function=name, host_only=False, cells=cells)
            for name, cells in rows.items()
        ],
    )


def matrix_text(matrix: MatrixPage, width: int) -> str:
    stream = io.StringIO()
    print_matrix(matrix, Console(file=stream, width=width))
    return stream.getvalue()


def test_a_cell_says_verdict_counts_cause_and_times() -> None:
    partial = cell("partial", 7, 9, cause="type", first_cold_ms=20.0, low_ms=0.05, ratio_to_cpu=5.0)
    assert fields(partial, on_cpu=False) == ("fails some", "7/9", "type", "20 ms", "50 µs", "×5")
    assert fields(partial, on_cpu=True) == ("fails some", "7/9", "type", "20 ms", "50 µs")


def test_a_function_in_no_count_says_why() -> None:
    removed_cell = cell("unknown", 0, 0, skipped=1, not_counted_cause="removed")
    assert fields(removed_cell, on_cpu=True) == ("no verdict", "0/0", "removed", "", "")


def test_a_cell_without_outcome_is_a_dash() -> None:
    assert "".join(fields(None, on_cpu=False)) == "-"
    assert len(fields(None, on_cpu=False)) == len(fields(cell("success", 1, 1), on_cpu=False))


def test_a_fallback_is_said_beside_the_verdict() -> None:
    assert remark(cell("success", 3, 3, on_device=FELL_BACK, fell_back=3)) == (
        "on device: fails all, 3 cases fell back to the host"
    )
    assert remark(cell("success", 3, 3)) == ""
    assert remark(cell("success", 3, 3, on_device=None)) == "", "a host-only function has no such verdict"


def test_all_targets_stand_side_by_side_where_there_is_room(matrix: MatrixPage) -> None:
    lines = matrix_text(matrix, 200).splitlines()
    (cat,) = [line for line in lines if line.startswith("torch.cat")]
    assert "9/9" in cat
    assert "7/9  type" in cat
    assert "XLA on the host CPU, not a TPU" in "\n".join(lines)


def test_a_narrow_terminal_gets_them_one_below_the_other_and_loses_nothing(matrix: MatrixPage) -> None:
    text = matrix_text(matrix, 80)
    cat = [line for line in text.splitlines() if line.startswith("torch.cat")]
    assert len(cat) == 2
    assert "9/9" in cat[0]
    assert "7/9  type" in cat[1]
    assert "×5" in cat[1]
    assert all(len(line) <= 80 for line in text.splitlines())


def test_a_name_and_a_cell_that_do_not_fit_beside_each_other_stand_below_each_other(matrix: MatrixPage) -> None:
    name = "tf.keras.preprocessing.image.ImageDataGenerator"
    long = cell("partial", 100, 128, cause="not_implemented", first_cold_ms=123.4, low_ms=1.234, ratio_to_cpu=12.3)
    wide = matrix.model_copy(
        update={
            "rows": [MatrixRow(framework="torch", module="torch.nn", function=name, host_only=False, cells={XLA: long})]
        }
    )
    lines = matrix_text(wide, 80).splitlines()
    assert "  fails some  100/128  not_implemented  123 ms  1.23 ms  ×12.3" in lines
    assert lines[lines.index("  fails some  100/128  not_implemented  123 ms  1.23 ms  ×12.3") - 1] == name
    assert all(len(line) <= 80 for line in lines)


def test_a_heading_is_not_cut(matrix: MatrixPage) -> None:
    hardware = "Intel(R) Xeon(R) Platinum 8481C CPU @ 2.70GHz, longer than anybody expects"
    long = [target.model_copy(update={"hardware": hardware}) for target in matrix.targets]
    text = matrix_text(matrix.model_copy(update={"targets": long}), 80)
    assert text.split().count("expects") == len(long)
    assert all(len(line) <= 80 for line in text.splitlines())


def test_a_note_is_said_once(matrix: MatrixPage) -> None:
    assert notes([*matrix.targets, *matrix.targets]) == ["torch@2.9.0/xla: XLA on the host CPU, not a TPU"]


def test_a_matrix_that_is_behind_says_so(matrix: MatrixPage) -> None:
    behind = Freshness(outcomes=5000, of=9000, at=None, current=False)
    assert "made from 5,000 of 9,000 outcomes" in matrix_text(matrix.model_copy(update={"freshness": behind}), 200)


def test_each_framework_stands_by_itself_with_its_own_targets(matrix: MatrixPage) -> None:
    other = target(3, "cpu").model_copy(update={"framework": "jax", "version": "0.10.2"})
    rows = [
        MatrixRow(framework="jax", module="jax", function="jax.vjp", host_only=False, cells={3: cell("success", 2, 2)}),
        MatrixRow(framework="torch", module="torch", function="torch.cat", host_only=False, cells={}),
    ]
    text = matrix_text(matrix.model_copy(update={"rows": rows, "targets": [target(CPU, "cpu"), other]}), 200)
    headings = [line.split() for line in text.splitlines() if "@" in line]
    assert headings == [["┃", "jax@0.10.2/cpu"], ["┃", "torch@2.9.0/cpu"]]


@pytest.mark.parametrize(("is_unconfirmed", "level"), [(None, "1 ms"), (False, "1 ms"), (True, "~1 ms")])
def test_a_level_that_no_second_run_confirms_is_marked(is_unconfirmed: bool | None, level: str) -> None:
    measured_cell = cell("success", 1, 1, first_cold_ms=5.0, low_ms=1.0, noisy=1, unconfirmed=is_unconfirmed)
    assert fields(measured_cell, on_cpu=True)[-1] == level


def test_the_answer_is_a_sentence_for_each_target(matrix: MatrixPage) -> None:
    assert answers(matrix) == [
        "torch@2.9.0/cpu: 2 of 2 functions pass every case, 2 of 2 on the device.",
        "torch@2.9.0/xla: 2 of 3 functions pass every case, 1 of 3 on the device.",
    ]


def test_of_interest_is_what_fails_falls_back_or_is_slow(matrix: MatrixPage) -> None:
    assert [row.function for row in of_interest(matrix).rows] == ["torch.cat", "torch.nonzero"]
    slow = matrix.model_copy(deep=True)
    slow.rows[3].cells[XLA] = cell("success", 2, 2, ratio_to_cpu=50.0)
    assert [row.function for row in of_interest(slow).rows] == ["torch.cat", "torch.nonzero", "torch.lt"]
