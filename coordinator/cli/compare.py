"""``portolan compare``: two campaigns, or two targets, against each other."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from coordinator.cli.options import AsJson, DataDir, Url, connect
from coordinator.errors import CoordinatorError
from coordinator.formats import plural, ratio
from coordinator.results.comparison.latencies import LatencyChange
from coordinator.results.comparison.models import Comparison, PairComparison, SideVerdict, VerdictChange

LISTED = 20
"""Functions of one kind; --json has all."""


class Which(StrEnum):
    anywhere = "anywhere"
    on_device = "on_device"


class FailOn(StrEnum):
    regression = "regression"
    slower = "slower"


def compare(
    a: Annotated[str, typer.Argument(metavar="A", help="A campaign's number, or one target of it: 3:torch/cpu.")],
    b: Annotated[str, typer.Argument(metavar="B", help="What to set against it.")],
    verdict: Annotated[
        Which, typer.Option(help="Which verdict counts: on_device, a fallback to the host fails.")
    ] = Which.anywhere,
    fail_on: Annotated[
        list[FailOn] | None, typer.Option("--fail-on", help="Exit with 1 if there is one; may be given twice.")
    ] = None,
    json: AsJson = False,
    url: Url = None,
    data_dir: DataDir = None,
) -> None:
    """Say what fails on A and passes on B, the other way round, and what became slower or faster."""
    with connect(url, data_dir) as client:
        found = client.compare(a, b, verdict)
    if json:
        print(found.model_dump_json(indent=2))
    else:
        for line in told(found):
            print(line)
    if fail_on and not found.pairs:
        raise CoordinatorError("nothing of these two can be compared, so nothing can be said of what is new")
    if any(happened(found, each) for each in fail_on or ()):
        raise typer.Exit(1)


def happened(found: Comparison, what: FailOn) -> bool:
    if what is FailOn.regression:
        return any(pair.verdicts.counts.regressions for pair in found.pairs)
    return any(pair.latencies.slower for pair in found.pairs)


def told(found: Comparison) -> list[str]:
    """The comparison in lines of text."""
    lines = [f"not compared: {each.target}: {each.why}" for each in found.left_out]
    if not found.pairs:
        lines.append("nothing of these two can be compared")
    for pair in found.pairs:
        lines += _pair(pair)
    return lines


def _pair(pair: PairComparison) -> list[str]:
    both = pair.a.target if pair.a.target == pair.b.target else f"{pair.a.target} against {pair.b.target}"
    counts, speed = pair.verdicts.counts, pair.latencies
    lines = [
        f"{both}: {plural(counts.regressions, 'regression')}, {counts.fixes} fixed, {counts.same} the same, "
        f"{counts.insufficient} with insufficient data",
        *(f"  {note}" for note in pair.notes),
    ]
    for kind in ("regression", "fix"):
        lines += _listed([_change(each) for each in pair.verdicts.changes if each.kind == kind])
    if speed.refused:
        return [*lines, f"  latency not compared: {speed.refused}"]
    lines.append(
        f"  latency: {speed.slower} slower, {speed.faster} faster, {speed.same} the same, "
        f"{speed.insufficient} with insufficient data"
    )
    for word in ("slower", "faster"):
        lines += _listed([_latency(each) for each in speed.changes if each.change == word])
    return lines


def _listed(lines: list[str]) -> list[str]:
    more = [f"    … and {len(lines) - LISTED} more: --json has all"] if len(lines) > LISTED else []
    return lines[:LISTED] + more


def _change(each: VerdictChange) -> str:
    return f"    {each.kind}: {each.function}: {_half(each.a)} → {_half(each.b)}"


def _half(each: SideVerdict | None) -> str:
    if each is None:
        return "no outcome"
    cause = f" ({each.cause})" if each.cause else ""
    return f"{each.verdict} {each.passed}/{each.total}{cause}"


def _latency(each: LatencyChange) -> str:
    interval = "" if each.interval is None else f" ({ratio(each.interval[0])} to {ratio(each.interval[1])})"
    return f"    {each.change}: {each.function}: {ratio(each.ratio)}{interval}"
