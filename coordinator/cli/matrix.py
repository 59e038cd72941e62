"""The function × target matrix in the terminal, and what it says in plain words."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from coordinator.cli.side_by_side import Column, side_by_side
from coordinator.cli.tables import latency, plural
from coordinator.results.outcomes.models import Cell, Matrix, MatrixRow, MatrixTarget

STYLES = {"success": "green", "partial": "yellow", "complete": "red", "unknown": "dim"}
LEGEND = (
    "success: no case failed; partial: some did; complete: all did; unknown: none counted",
    "n/m: cases that passed, of those that count; then the main cause; cold: first call; steady: median after "
    "warm-up; ×: steady against the CPU, over common cases",
)

Fields = tuple[str, ...]


def fields(cell: Cell | None, *, on_cpu: bool) -> Fields:
    """What a cell says: verdict, n/m, cause, cold, steady, and the ratio where there can be one."""
    if cell is None:
        return ("-",) + ("",) * (4 if on_cpu else 5)
    cause = cell.cause or (cell.not_counted_cause if cell.total == 0 else None) or ""
    measured = cell.cold_ms is not None or cell.steady_ms is not None
    times = (latency(cell.cold_ms), latency(cell.steady_ms)) if measured else ("", "")
    ratio = "" if cell.ratio_to_cpu is None else f"×{cell.ratio_to_cpu:.3g}"
    return (cell.verdict, f"{cell.passed}/{cell.total}", cause, *times, *(() if on_cpu else (ratio,)))


def remark(cell: Cell | None) -> str:
    """The second line of a cell: that it looks otherwise on the device itself, flaky cases, what is in no count."""
    if cell is None:
        return ""
    parts = []
    if cell.verdict_on_device not in (None, cell.verdict):
        parts.append(f"on device: {cell.verdict_on_device}")
    if cell.fell_back:
        parts.append(f"{plural(cell.fell_back, 'case')} fell back to the host")
    if cell.unknown_placement:
        parts.append(f"{plural(cell.unknown_placement, 'case')} passed without proof of where")
    if cell.flaky:
        parts.append(f"{cell.flaky} flaky")
    if cell.incomplete:
        parts.append(f"{cell.incomplete} incomplete")
    return ", ".join(parts)


def print_matrix(matrix: Matrix, out: Console) -> None:
    """As many targets side by side as fit into the terminal; nothing is cut."""
    if not matrix.functions:
        out.print("no function has an outcome yet")
        return
    names = []
    for row in matrix.functions:
        name = Text(row.function)
        if row.host_only:
            name.append("\n  host only", style="dim")
        names.append(name)
    columns = [
        Column(f"{target.target}\n{target.hardware}", _column(matrix.functions, target)) for target in matrix.targets
    ]
    for table in side_by_side(Column("function", names), columns, out.width):
        out.print(table)
    for line in notes(matrix.targets):
        out.print(Text(line))
    for line in LEGEND:
        out.print(Text(line, style="dim"))


def notes(targets: Sequence[MatrixTarget]) -> list[str]:
    """Sentences that must stand beside any figure of these targets."""
    lines = []
    for target in targets:
        said = [*target.notes, *(["simulated"] if target.simulated else [])]
        lines += [f"{target.target}: {note}" for note in said]
    return list(dict.fromkeys(lines))


def _column(rows: Sequence[MatrixRow], target: MatrixTarget) -> list[Text]:
    """One target's cells, their fields aligned."""
    on_cpu = is_cpu(target)
    cells = [row.cells.get(target.id) for row in rows]
    told = [fields(cell, on_cpu=on_cpu) for cell in cells]
    widths = [max(map(len, values)) for values in zip(*told, strict=True)]
    column = []
    for cell, values in zip(cells, told, strict=True):
        text = Text()
        for place, (value, width) in enumerate(zip(values, widths, strict=True)):
            if width:
                padded = value.ljust(width) if place in (0, 2) else value.rjust(width)
                text.append(padded + "  ", style=STYLES.get(value, "") if place == 0 else "")
        text.rstrip()
        if said := remark(cell):
            text.append(f"\n  {said}", style="magenta")
        column.append(text)
    return column


def is_cpu(target: MatrixTarget) -> bool:
    return target.target.endswith("/cpu")


def summary(matrix: Matrix) -> list[str]:
    """For each target: how many functions port, why the others do not, and how much slower it is."""
    return [line for target in matrix.targets for line in _summary(matrix.functions, target)]


def _summary(rows: Sequence[MatrixRow], target: MatrixTarget) -> list[str]:
    cells = [row.cells[target.id] for row in rows if target.id in row.cells]
    if not cells:
        return [f"{target.target}: no outcome"]
    verdicts = Counter(cell.verdict for cell in cells)
    counted = len(cells) - verdicts["unknown"]
    line = f"{target.target}: {verdicts['success']} of {plural(counted, 'function')} port"
    if others := counted - verdicts["success"]:
        causes = Counter(cell.cause or "unknown" for cell in cells if cell.verdict in ("partial", "complete"))
        line += (
            f", {verdicts['partial']} in part, {verdicts['complete']} not at all; "
            f"{'it fails' if others == 1 else 'they fail'} mainly for: {_listed(causes)}"
        )
    lines = [line + "."]
    if failed := sum(cell.failed for cell in cells):
        lines.append(
            f"  Cause unknown: {sum(cell.unknown_cause for cell in cells)} of {plural(failed, 'failed case')}."
        )
    if uncounted := verdicts["unknown"]:
        causes = Counter(cell.not_counted_cause or "unknown" for cell in cells if cell.verdict == "unknown")
        lines.append(f"  {plural(uncounted, 'function')} in no count: {_listed(causes)}.")
    lines += _on_device(cells)
    if ratios := [cell.ratio_to_cpu for cell in cells if cell.ratio_to_cpu is not None]:
        faster = sum(ratio < 1 for ratio in ratios)
        lines.append(
            f"  Steady calls take {statistics.median(ratios):.3g} times as long as on the CPU "
            f"(median over {plural(len(ratios), 'function')}; "
            f"{faster} {'is' if faster == 1 else 'are'} faster)."
        )
    return lines


def _on_device(cells: Sequence[Cell]) -> list[str]:
    """How many functions port on the device itself, where that is not what the first line says."""
    fell_back = sum(cell.fell_back > 0 for cell in cells)
    unproven = sum((cell.unknown_placement or 0) > 0 for cell in cells)
    lines = []
    if fell_back or unproven:
        known = [cell for cell in cells if cell.verdict_on_device not in (None, "unknown")]
        own = sum(cell.verdict_on_device == "success" for cell in known)
        why = f": {plural(fell_back, 'function')} silently used the host" if fell_back else ""
        lines.append(f"  On the device itself {own} of {len(known)} {'does' if own == 1 else 'do'}{why}.")
    if unproven:
        cases = sum(cell.unknown_placement or 0 for cell in cells)
        lines.append(
            f"  Where it ran is unknown of {plural(cases, 'case')} of {plural(unproven, 'function')} that passed: "
            "in no count on the device."
        )
    return lines


def _listed(causes: Counter[str]) -> str:
    return ", ".join(f"{cause} {n}" for cause, n in causes.most_common())
