"""Prints the matrix of functions and targets. As many targets as fit are side by side, and nothing is truncated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from coordinator.figures.counting import ANYWHERE, ON_DEVICE, SIDE_BY_SIDE, CountingRule, rule_named
from coordinator.figures.formats import latency, level, number, ratio, verdict_words
from coordinator.figures.level import UNCONFIRMED
from coordinator.reports.latencies import INTOLERABLE
from coordinator.results.lowerings import lowering_rate, lowering_sentence
from coordinator.results.models import Cell, MatrixPage, MatrixRow
from coordinator.results.summary import Section, ports_in_short
from coordinator.targets.models import NOT_RUN, Target, notes

STYLES = {"passes": "green", "fails some": "yellow", "fails all": "red", "no verdict": "dim", "lowered": "cyan"}
LEGEND = (
    "passes: no case failed; fails some: some cases failed; fails all: all cases failed; no verdict: no case counts",
    "n/m: cases that passed, of those that count; then the main cause; cold: a user's first call (the first call of a "
    "process's first case); level: a call after warm-up, undisturbed; "
    f"~: {UNCONFIRMED}; ×: level against the CPU, over common cases",
)

BETWEEN = 3
"""The width between two columns: a line with a space on each side."""

Fields = tuple[str, ...]


def fields(cell: Cell | None, *, on_cpu: bool, rule: CountingRule = ANYWHERE) -> Fields:
    """A cell's verdict, n/m, cause, first cold time, level, and ratio if the target can have a ratio."""
    if cell is None:
        return ("-",) + ("",) * (4 if on_cpu else 5)
    if cell.lowering_words is not None:
        return (cell.lowering_words,) + ("",) * (4 if on_cpu else 5)
    counts = cell.shown_counts(rule)
    has_times = cell.first_cold_ms is not None or cell.low_ms is not None
    level_of_cell = level(cell.low_ms, unconfirmed=cell.unconfirmed)
    times = (latency(cell.first_cold_ms), level_of_cell) if has_times else ("", "")
    slower = "" if cell.ratio_to_cpu is None else ratio(cell.ratio_to_cpu)
    head = (verdict_words(counts.verdict), f"{counts.passed}/{counts.total}", counts.cause or "")
    return (*head, *times, *(() if on_cpu else (slower,)))


def remark(cell: Cell | None) -> str:
    """The second line of a cell: the verdict on the device if it differs, and other remarks."""
    if cell is None:
        return ""
    on_device = cell.verdict_by(ON_DEVICE)
    if on_device is None or on_device == cell.anywhere.verdict:
        return ", ".join(cell.remarks)
    return ", ".join([f"{ON_DEVICE.label}: {verdict_words(on_device)}", *cell.remarks])


def print_matrix(matrix: MatrixPage, out: Console) -> None:
    """Print a table for each framework, with as many targets side by side as fit into the terminal. Nothing is
    truncated."""
    if not matrix.rows:
        out.print("no function has an outcome yet")
        return
    rule = rule_named(matrix.rule)
    for rows, targets in _by_framework(matrix):
        columns = [MatrixColumn(_heading(target), _column(rows, target, rule)) for target in targets]
        for table in _side_by_side(MatrixColumn("function", [_name(row) for row in rows]), columns, out.width):
            out.print(table)
    for line in notes(matrix.targets):
        out.print(Text(line))
    if not matrix.freshness.current:
        made_from = f"{number(matrix.freshness.outcomes)} of {number(matrix.freshness.of)}"
        out.print(Text(f"made from {made_from} outcomes: run the command again in a moment"))
    if rule != ANYWHERE:
        out.print(Text(f"verdicts and n/m are {rule.label}: {rule.sentence}; latencies are of all cases"))
    for line in LEGEND:
        out.print(Text(line, style="dim"))


def answers(matrix: MatrixPage) -> list[str]:
    """One sentence for each target: ``torch@2.9.0/xla: 47 of 60 functions pass every case, …``."""
    lines = []
    for target in matrix.targets:
        cells = [row.cells[target.id] for row in matrix.rows if target.id in row.cells]
        lowering_words = [cell.lowering for cell in cells]
        if target.is_lowered:
            lines.append(f"{target.target}: {lowering_sentence(lowering_rate(lowering_words))}")
            continue
        rated_cells = [cell for cell in cells if cell.is_rated]
        anywhere, on_device = (
            Counter(cell.verdict_by(rule) or "unknown" for cell in rated_cells) for rule in SIDE_BY_SIDE
        )
        lines.append(f"{target.target}: {ports_in_short(anywhere, on_device) or 'no function has a verdict'}.")
    return lines


def of_interest(matrix: MatrixPage) -> MatrixPage:
    """The rows of functions that fail, fall back or are slow on a target."""
    return matrix.model_copy(update={"rows": [row for row in matrix.rows if any(map(_is_told, row.cells.values()))]})


def _is_told(cell: Cell) -> bool:
    verdicts = {cell.verdict_by(rule) for rule in SIDE_BY_SIDE}
    return bool(verdicts & {"partial", "complete"}) or (cell.ratio_to_cpu or 0) > INTOLERABLE


def print_results(matrix: MatrixPage, summary: Iterable[Section], out: Console) -> None:
    """Print a campaign's matrix, and below the matrix the sentences of its summary."""
    print_matrix(matrix, out)
    print_summary(summary, out)


def print_summary(summary: Iterable[Section], out: Console) -> None:
    for section in summary:
        out.print(Text(section.heading, style="bold"))
        for sentence in section.sentences:
            out.print(Text(f"  {sentence}"), soft_wrap=True)


def _by_framework(matrix: MatrixPage) -> Iterator[tuple[list[MatrixRow], list[Target]]]:
    """For each framework, its rows and its targets."""
    groups: dict[str, list[MatrixRow]] = {}
    for row in matrix.rows:
        groups.setdefault(row.framework, []).append(row)
    for framework, rows in groups.items():
        yield rows, [target for target in matrix.targets if target.framework == framework]


def _name(row: MatrixRow) -> Text:
    name = Text(row.function)
    if row.host_only:
        name.append("\n  host only", style="dim")
    return name


def _heading(target: Target) -> str:
    return "\n".join((target.target, target.hardware, *([NOT_RUN] if target.is_lowered else [])))


def _column(rows: Sequence[MatrixRow], target: Target, rule: CountingRule) -> list[Text]:
    """The cells of one target, with their fields aligned."""
    on_cpu = target.device == "cpu"
    cells = [row.cells.get(target.id) for row in rows]
    lines = [fields(cell, on_cpu=on_cpu, rule=rule) for cell in cells]
    widths = [max(map(len, values)) for values in zip(*lines, strict=True)]
    column = []
    for cell, values in zip(cells, lines, strict=True):
        text = Text()
        for place, (value, width) in enumerate(zip(values, widths, strict=True)):
            if width:
                cell_text = value.ljust(width) if place in (0, 2) else value.rjust(width)
                text.append(cell_text + "  ", style=STYLES.get(value, "") if place == 0 else "")
        text.rstrip()
        if below := remark(cell):
            text.append(f"\n  {below}", style="magenta")
        column.append(text)
    return column


@dataclass(frozen=True)
class MatrixColumn:
    """A heading of several lines, and a cell for each row."""

    heading: str
    cells: Sequence[Text]

    @property
    def width(self) -> int:
        return max((len(line) for cell in self.cells for line in cell.plain.split("\n")), default=0)


def _side_by_side(names: MatrixColumn, columns: Sequence[MatrixColumn], width: int) -> Iterator[RenderableType]:
    """Tables that show these columns side by side, each table beginning with the names. There are as few tables as the
    terminal's width allows.

    If a column does not fit next to the names even alone, each name is printed above its cell instead.
    """
    room = width - names.width
    if any(BETWEEN + column.width > room for column in columns):
        for column in columns:
            yield from _below(names, column)
        return
    for group in _groups(columns, room):
        table = Table(pad_edge=False, show_edge=False, title=None, header_style="bold")
        for column in (names, *group):
            # A heading that is longer than its cells wraps to the next line.
            table.add_column(Text(column.heading, overflow="fold"), min_width=column.width, overflow="fold")
        for row in zip(names.cells, *(column.cells for column in group), strict=True):
            table.add_row(*row)
        yield table


def _below(names: MatrixColumn, column: MatrixColumn) -> Iterator[RenderableType]:
    yield Text(column.heading, style="bold")
    for name, cell in zip(names.cells, column.cells, strict=True):
        yield name
        yield Padding(cell, (0, 0, 0, 2), expand=False)
    yield ""


def _groups(columns: Sequence[MatrixColumn], room: int) -> list[list[MatrixColumn]]:
    """The columns in their order, in as few groups as fit the width."""
    groups: list[list[MatrixColumn]] = []
    width = 0
    for column in columns:
        if groups and width + BETWEEN + column.width <= room:
            groups[-1].append(column)
            width += BETWEEN + column.width
        else:
            groups.append([column])
            width = BETWEEN + column.width
    return groups
