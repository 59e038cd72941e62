"""The function × target matrix in the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.text import Text

from coordinator.cli.side_by_side import Column, side_by_side
from coordinator.formats import latency, number, ratio
from coordinator.results.models import Cell, MatrixPage, MatrixRow
from coordinator.results.summary import Section
from coordinator.targets.models import Target, notes

STYLES = {"success": "green", "partial": "yellow", "complete": "red", "unknown": "dim"}
LEGEND = (
    "success: no case failed; partial: some did; complete: all did; unknown: none counted",
    "n/m: cases that passed, of those that count; then the main cause; cold: first call; steady: median after "
    "warm-up; ×: steady against the CPU, over common cases",
)

Fields = tuple[str, ...]


def fields(cell: Cell | None, *, on_cpu: bool) -> Fields:
    """A cell's verdict, n/m, cause, cold and steady time, and the ratio where there can be one."""
    if cell is None:
        return ("-",) + ("",) * (4 if on_cpu else 5)
    judged = cell.judged("anywhere")
    assert judged is not None
    measured = cell.cold_ms is not None or cell.steady_ms is not None
    times = (latency(cell.cold_ms), latency(cell.steady_ms)) if measured else ("", "")
    slower = "" if cell.ratio_to_cpu is None else ratio(cell.ratio_to_cpu)
    head = (judged.verdict, f"{judged.passed}/{judged.total}", judged.cause or "")
    return (*head, *times, *(() if on_cpu else (slower,)))


def remark(cell: Cell | None) -> str:
    """The second line of a cell: the verdict on the device where it is another, and what is not as usual."""
    if cell is None:
        return ""
    other = cell.verdict_on_device not in (None, cell.verdict)
    return ", ".join([*([f"on device: {cell.verdict_on_device}"] if other else []), *cell.remarks])


def print_matrix(matrix: MatrixPage, out: Console) -> None:
    """As many targets side by side as fit into the terminal; nothing is cut."""
    if not matrix.rows:
        out.print("no function has an outcome yet")
        return
    names = []
    for row in matrix.rows:
        name = Text(row.function)
        if row.host_only:
            name.append("\n  host only", style="dim")
        names.append(name)
    columns = [Column(f"{target.target}\n{target.hardware}", _column(matrix.rows, target)) for target in matrix.targets]
    for table in side_by_side(Column("function", names), columns, out.width):
        out.print(table)
    for line in notes(matrix.targets):
        out.print(Text(line))
    if not matrix.freshness.current:
        made_from = f"{number(matrix.freshness.outcomes)} of {number(matrix.freshness.of)}"
        out.print(Text(f"made from {made_from} outcomes: ask again in a moment"))
    for line in LEGEND:
        out.print(Text(line, style="dim"))


def print_results(matrix: MatrixPage, summary: Iterable[Section], out: Console) -> None:
    """Print a campaign's matrix, and below it the sentences of its summary."""
    print_matrix(matrix, out)
    for section in summary:
        out.print(Text(section.heading, style="bold"))
        for sentence in section.sentences:
            out.print(Text(f"  {sentence}"), soft_wrap=True)


def _column(rows: Sequence[MatrixRow], target: Target) -> list[Text]:
    """One target's cells, their fields aligned."""
    on_cpu = target.device == "cpu"
    cells = [row.cells.get(target.id) for row in rows]
    lines = [fields(cell, on_cpu=on_cpu) for cell in cells]
    widths = [max(map(len, values)) for values in zip(*lines, strict=True)]
    column = []
    for cell, values in zip(cells, lines, strict=True):
        text = Text()
        for place, (value, width) in enumerate(zip(values, widths, strict=True)):
            if width:
                padded = value.ljust(width) if place in (0, 2) else value.rjust(width)
                text.append(padded + "  ", style=STYLES.get(value, "") if place == 0 else "")
        text.rstrip()
        if below := remark(cell):
            text.append(f"\n  {below}", style="magenta")
        column.append(text)
    return column
