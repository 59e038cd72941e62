"""``portolan history``: one function over campaigns and versions of its framework."""

from __future__ import annotations

from typing import Annotated

import typer

from coordinator.cli.options import AsJson, DataDir, Url, connect
from coordinator.cli.tables import print_columns
from coordinator.formats import latency
from coordinator.results.models import HistoryCell


def history(
    function: Annotated[str, typer.Argument(metavar="FUNCTION", help="Its public dotted name: torch.nonzero.")],
    framework: Annotated[
        str | None, typer.Option(help="If it is not the one that the name begins with (tf: tensorflow).")
    ] = None,
    json: AsJson = False,
    url: Url = None,
    data_dir: DataDir = None,
) -> None:
    """Show one function on every target of every campaign, newest first."""
    with connect(url, data_dir) as client:
        found = client.history(framework or framework_of(function), function)
    if json:
        print(found.model_dump_json(indent=2))
        return
    head = ("campaign", "target", "hardware", "suite", "verdict", "on device", "cause", "cold", "steady", "notes")
    print_columns(head, [_row(each) for each in found.cells], "no outcome")


def framework_of(function: str) -> str:
    first = function.partition(".")[0]
    return "tensorflow" if first == "tf" else first


def _row(each: HistoryCell) -> tuple[str, ...]:
    device = "host only" if each.verdict_on_device is None else each.verdict_on_device
    return (
        str(each.campaign_id),
        each.target,
        each.hardware,
        f"{each.suite} {each.suite_revision}",
        f"{each.verdict} {each.passed}/{each.total}",
        device if each.passed_on_device is None else f"{device} {each.passed_on_device}/{each.total_on_device}",
        each.main_cause or "",
        latency(each.cold_ms),
        latency(each.steady_ms),
        "; ".join(each.sentences),
    )
