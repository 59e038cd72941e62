"""``portolan compare`` compares two campaigns or targets. ``portolan history`` shows one function over all
campaigns."""

from __future__ import annotations

from collections import Counter
from typing import Annotated

import typer

from coordinator.cli.output import print_columns, print_json
from coordinator.cli.rest_client import Client
from coordinator.cli.shared_options import AsJson, Rule, with_client
from coordinator.errors import CoordinatorError
from coordinator.figures.counting import ANYWHERE, Counts
from coordinator.figures.formats import join_words, latency, level, plural, ratio, verdict_words
from coordinator.results.comparison.latencies import LatencyChange
from coordinator.results.comparison.models import (
    Comparison,
    ComparisonGate,
    PairComparison,
    SideVerdict,
    VerdictChange,
    VerdictComparison,
)
from coordinator.results.models import HistoryCell

HISTORY = (
    "campaign", "target", "hardware", "suite", "verdict", "on device", "cause", "cold, first", "cold, later", "level",
    "median", "notes",
)  # fmt: skip
NAMED = 5
"""The maximum number of names in a line about functions or cases that cannot be compared."""
LISTED = 20
"""The maximum number of printed functions for one kind of change; --json has all."""


@with_client
def compare(
    client: Client,
    a: Annotated[str, typer.Argument(metavar="A", help="A campaign's number, or one of its targets: 3:torch/cpu.")],
    b: Annotated[str, typer.Argument(metavar="B", help="The campaign or target to compare with.")],
    rule: Rule = ANYWHERE.name,
    fail_on: Annotated[
        list[ComparisonGate] | None,
        typer.Option("--fail-on", help="Exit with code 1 if there is a change of this kind. Repeatable."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the cases that changed from A to B, and the functions that became slower or faster."""
    comparison = client.compare(a, b, rule)
    if as_json:
        print_json(comparison)
    else:
        print("\n".join(_lines(comparison)))
    if fail_on and not comparison.pairs:
        raise CoordinatorError(
            f"{a} and {b} have no targets that can be compared (same framework and device), so --fail-on cannot be "
            "checked: compare campaigns with a common target"
        )
    if any(comparison.fails(gate) for gate in fail_on or ()):
        raise typer.Exit(1)


def _lines(comparison: Comparison) -> list[str]:
    """Return the comparison as lines of text."""
    lines = [f"not compared: {target.target}: {target.why}" for target in comparison.left_out]
    if not comparison.pairs:
        lines.append("there is no target that can be compared: both sides need a common framework and device")
    for pair in comparison.pairs:
        lines += _pair(pair)
    return lines


def _pair(pair: PairComparison) -> list[str]:
    both = pair.a.target if pair.a.target == pair.b.target else f"{pair.a.target} against {pair.b.target}"
    counts, cases, speed = pair.verdicts.counts, pair.verdicts.cases, pair.latencies
    lines = [
        f"{both}: {plural(counts.regressions, 'regression')}, {counts.fixes} fixed, {counts.mixed} with both, "
        f"{counts.changes} with other changes, {counts.same} unchanged, {counts.lost} without a result on B, "
        f"{counts.insufficient} with insufficient data",
        f"  by case: {cases.worse} worse, {cases.better} better, {cases.cause} failed with another cause, "
        f"{cases.placement} passed with another placement, {cases.same} unchanged, "
        f"{cases.lost} without a result on B, {cases.insufficient} with insufficient data, "
        f"{cases.not_compared} not compared",
        *(f"  {note}" for note in pair.notes),
    ]
    for kind in ("regression", "mixed", "lost", "change", "fix"):
        lines += _shorten([_change(change) for change in pair.verdicts.changes if change.kind == kind])
    lines += _not_compared_lines(pair.verdicts)
    if speed.refused:
        return [*lines, f"  latency not compared: {speed.refused}"]
    lines.append(
        f"  latency: {speed.slower} slower, {speed.faster} faster, {speed.same} unchanged, "
        f"{speed.insufficient} with insufficient data"
    )
    lines.append(f"  {speed.host}")
    for word in ("slower", "faster"):
        lines += _shorten([_latency(change) for change in speed.changes if change.change == word])
    reasons = Counter(change.why for change in speed.changes if change.change == "insufficient data")
    lines += [
        f"    insufficient data: {plural(functions, 'function')}: {why}" for why, functions in reasons.most_common()
    ]
    return lines


def _not_compared_lines(verdicts: VerdictComparison) -> list[str]:
    """Lines about the functions with insufficient data and the cases that were not compared, each with the reason."""
    unsure = [f"{change.function} ({change.why})" for change in verdicts.changes if change.kind == "insufficient data"]
    cases = [
        f"{case.case} ({case.why})"
        for change in verdicts.changes
        for case in change.cases
        if case.kind == "not compared"
    ]
    groups = (("insufficient data", unsure), ("not compared", cases))
    return [f"    {words}: {join_words(names, NAMED)}" for words, names in groups if names]


def _shorten(lines: list[str]) -> list[str]:
    more = [f"    … and {len(lines) - LISTED} more: --json has all"] if len(lines) > LISTED else []
    return lines[:LISTED] + more


def _change(change: VerdictChange) -> str:
    line = f"    {change.kind}: {change.function}: {_half(change.a)} → {_half(change.b)}: {change.moves}"
    conditions = [(letter, side.conditions) for letter, side in (("A", change.a), ("B", change.b)) if side]
    return line + "".join(
        f"\n      on {letter} it {'; '.join(sentences)}" for letter, sentences in conditions if sentences
    )


def _half(half: SideVerdict | None) -> str:
    if half is None:
        return "no outcome"
    cause = f" ({half.cause})" if half.cause else ""
    return f"{verdict_words(half.verdict)} {half.passed}/{half.total}{cause}"


def _latency(change: LatencyChange) -> str:
    interval = "" if change.interval is None else f" ({ratio(change.interval[0])} to {ratio(change.interval[1])})"
    cases = f": {change.moves}" if change.moves else ""
    contention = "" if change.contended == (None, None) else f", contended {change.contended_shares}"
    return f"    {change.change}: {change.function}: {ratio(change.ratio)}{interval}{contention}{cases}"


@with_client
def history(
    client: Client,
    function: Annotated[
        str, typer.Argument(metavar="FUNCTION", help="Public dotted name of the function, such as torch.nonzero.")
    ],
    framework: Annotated[
        str | None,
        typer.Option(
            help="The framework; needed unless the function's name begins with it (`tf` stands for tensorflow)."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show one function on every target of every campaign, newest first."""
    first = function.partition(".")[0]
    cell_history = client.history(framework or {"tf": "tensorflow"}.get(first, first), function)
    if as_json:
        print_json(cell_history)
        return
    print_columns(HISTORY, [_history_row(cell) for cell in cell_history.cells], "no outcome")


def _history_row(cell: HistoryCell) -> tuple[str, ...]:
    return (
        str(cell.campaign_id),
        cell.target,
        cell.hardware,
        f"{cell.suite} {cell.suite_revision}",
        _verdict_text(cell.anywhere),
        _verdict_text(cell.on_device) if cell.on_device else "host only",
        cell.main_cause or "",
        latency(cell.first_cold_ms),
        latency(cell.later_cold_ms),
        level(cell.low_ms, unconfirmed=cell.unconfirmed),
        latency(cell.steady_ms),
        "; ".join(cell.sentences),
    )


def _verdict_text(counts: Counts) -> str:
    return f"{verdict_words(counts.verdict)} {counts.passed}/{counts.total}"
