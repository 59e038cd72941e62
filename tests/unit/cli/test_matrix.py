"""The matrix and its summary say what the cells hold, in the words of the study."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from coordinator.cli.matrix import fields, notes, print_matrix, remark, summary
from coordinator.cli.tables import duration, latency
from coordinator.results.outcomes.models import Cell, Matrix, MatrixRow, MatrixTarget

CPU, XLA = 1, 2


def cell(verdict: str, passed: int, total: int, **more: Any) -> Cell:
    values = {
        "verdict": verdict,
        "verdict_on_device": verdict,
        "passed": passed,
        "failed": total - passed,
        "total": total,
        "skipped": 0,
        "incomplete": 0,
        "flaky": 0,
        "fell_back": 0,
        "passed_on_device": passed,
        "total_on_device": total,
        "unknown_placement": 0,
        "cause": None,
        "cause_on_device": None,
        "not_counted_cause": None,
    }
    return Cell.model_validate(values | more)


def target(id: int, name: str, *said: str) -> MatrixTarget:
    return MatrixTarget(
        id=id, target=name, hardware="a host", environment="e", revision="r", simulated=False, notes=list(said)
    )


@pytest.fixture
def matrix() -> Matrix:
    """Two targets: everything passes on one; the other falls back, fails, and lacks a function."""
    rows = {
        "torch.cat": {
            CPU: cell("success", 9, 9, cold_ms=0.05, steady_ms=0.01),
            XLA: cell("partial", 7, 9, cause="type", unknown_cause=1, cold_ms=20.0, steady_ms=0.05, ratio_to_cpu=5.0),
        },
        "torch.nonzero": {
            CPU: cell("success", 3, 3),
            XLA: cell("success", 3, 3, verdict_on_device="complete", cause_on_device="placement", fell_back=3),
        },
        "torch.gone": {XLA: cell("unknown", 0, 0, skipped=2, not_counted_cause="removed")},
        "torch.lt": {XLA: cell("success", 2, 2, ratio_to_cpu=0.5)},
    }
    return Matrix(
        campaign_id=1,
        suite="paper",
        targets=[target(CPU, "torch@2.9.0/cpu"), target(XLA, "torch@2.9.0/xla", "XLA on the host CPU, not a TPU")],
        functions=[MatrixRow(function=name, host_only=False, cells=cells) for name, cells in rows.items()],
    )


def shown(matrix: Matrix, width: int) -> str:
    stream = io.StringIO()
    print_matrix(matrix, Console(file=stream, width=width))
    return stream.getvalue()


def test_a_cell_says_verdict_counts_cause_and_times() -> None:
    partial = cell("partial", 7, 9, cause="type", cold_ms=20.0, steady_ms=0.05, ratio_to_cpu=5.0)
    assert fields(partial, on_cpu=False) == ("partial", "7/9", "type", "20 ms", "50 µs", "×5")
    assert fields(partial, on_cpu=True) == ("partial", "7/9", "type", "20 ms", "50 µs")


def test_a_function_in_no_count_says_why() -> None:
    gone = cell("unknown", 0, 0, skipped=1, not_counted_cause="removed")
    assert fields(gone, on_cpu=True) == ("unknown", "0/0", "removed", "", "")


def test_a_cell_without_outcome_is_a_dash() -> None:
    assert "".join(fields(None, on_cpu=False)) == "-"
    assert len(fields(None, on_cpu=False)) == len(fields(cell("success", 1, 1), on_cpu=False))


def test_a_fallback_is_said_beside_the_verdict() -> None:
    assert remark(cell("success", 3, 3, verdict_on_device="complete", fell_back=3)) == (
        "on device: complete, 3 cases fell back to the host"
    )
    assert remark(cell("success", 3, 3)) == ""
    assert remark(cell("success", 3, 3, verdict_on_device=None)) == "", "a host-only function has no such verdict"


def test_all_targets_stand_side_by_side_where_there_is_room(matrix: Matrix) -> None:
    lines = shown(matrix, 200).splitlines()
    (cat,) = [line for line in lines if line.startswith("torch.cat")]
    assert "9/9" in cat
    assert "7/9  type" in cat
    assert "XLA on the host CPU, not a TPU" in "\n".join(lines)


def test_a_narrow_terminal_gets_them_one_below_the_other_and_loses_nothing(matrix: Matrix) -> None:
    text = shown(matrix, 80)
    cat = [line for line in text.splitlines() if line.startswith("torch.cat")]
    assert len(cat) == 2
    assert "9/9" in cat[0]
    assert "7/9  type" in cat[1]
    assert "×5" in cat[1]
    assert all(len(line) <= 80 for line in text.splitlines())


def test_a_name_and_a_cell_that_do_not_fit_beside_each_other_stand_below_each_other(matrix: Matrix) -> None:
    name = "tf.keras.preprocessing.image.ImageDataGenerator"
    long = cell("partial", 100, 128, cause="not_implemented", cold_ms=123.4, steady_ms=1.234, ratio_to_cpu=12.3)
    wide = matrix.model_copy(update={"functions": [MatrixRow(function=name, host_only=False, cells={XLA: long})]})
    lines = shown(wide, 80).splitlines()
    assert "  partial  100/128  not_implemented  123 ms  1.23 ms  ×12.3" in lines
    assert lines[lines.index("  partial  100/128  not_implemented  123 ms  1.23 ms  ×12.3") - 1] == name
    assert all(len(line) <= 80 for line in lines)


def test_a_heading_is_not_cut(matrix: Matrix) -> None:
    hardware = "Intel(R) Xeon(R) Platinum 8481C CPU @ 2.70GHz, longer than anybody expects"
    long = [target.model_copy(update={"hardware": hardware}) for target in matrix.targets]
    text = shown(matrix.model_copy(update={"targets": long}), 80)
    assert text.split().count("expects") == len(long)
    assert all(len(line) <= 80 for line in text.splitlines())


def test_the_summary_says_how_many_port_why_others_do_not_and_how_slow(matrix: Matrix) -> None:
    assert summary(matrix) == [
        "torch@2.9.0/cpu: 2 of 2 functions port.",
        "torch@2.9.0/xla: 2 of 3 functions port, 1 in part, 0 not at all; it fails mainly for: type 1.",
        "  Cause unknown: 1 of 2 failed cases.",
        "  1 function in no count: removed 1.",
        "  On the device itself 1 of 3 does: 1 function silently used the host.",
        "  Steady calls take 2.75 times as long as on the CPU (median over 2 functions; 1 is faster).",
    ]


def test_a_note_is_said_once(matrix: Matrix) -> None:
    assert notes([*matrix.targets, *matrix.targets]) == ["torch@2.9.0/xla: XLA on the host CPU, not a TPU"]


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (None, "-"),
        (0.00123, "1.23 µs"),
        (0.0851, "85.1 µs"),
        (0.9994, "999 µs"),
        (1.0, "1 ms"),
        (999.4, "999 ms"),
        (999.9, "1 s"),
        (2_050.0, "2.05 s"),
        (12_345_000.0, "12345 s"),
    ],
)
def test_latencies_have_three_figures_and_a_unit(ms: float | None, text: str) -> None:
    assert latency(ms) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "unknown"),
        (0.25, "250 ms"),
        (59.4, "59 s"),
        (59.6, "1 min 00 s"),
        (3599.6, "1 h 00 min"),
        (7800, "2 h 10 min"),
    ],
)
def test_durations_read_as_people_say_them(seconds: float | None, text: str) -> None:
    assert duration(seconds) == text
