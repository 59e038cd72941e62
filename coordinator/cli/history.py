"""``portolan history``: one function over campaigns and versions of its framework."""

from __future__ import annotations

from typing import Annotated

import typer

from coordinator.cli.client import Client
from coordinator.cli.options import AsJson, with_client
from coordinator.cli.output import print_columns, print_json
from coordinator.formats import latency
from coordinator.results.models import HistoryCell


@with_client
def history(
    client: Client,
    function: Annotated[str, typer.Argument(metavar="FUNCTION", help="Its public dotted name: torch.nonzero.")],
    framework: Annotated[
        str | None, typer.Option(help="If it is not the one that the name begins with (tf: tensorflow).")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show one function on every target of every campaign, newest first."""
    found = client.history(framework or framework_of(function), function)
    if as_json:
        print_json(found)
        return
    head = ("campaign", "target", "hardware", "suite", "verdict", "on device", "cause", "cold", "steady", "notes")
    print_columns(head, [_row(cell) for cell in found.cells], "no outcome")


def framework_of(function: str) -> str:
    first = function.partition(".")[0]
    return "tensorflow" if first == "tf" else first


def _row(cell: HistoryCell) -> tuple[str, ...]:
    device = "host only" if cell.verdict_on_device is None else cell.verdict_on_device
    return (
        str(cell.campaign_id),
        cell.target,
        cell.hardware,
        f"{cell.suite} {cell.suite_revision}",
        f"{cell.verdict} {cell.passed}/{cell.total}",
        device if cell.passed_on_device is None else f"{device} {cell.passed_on_device}/{cell.total_on_device}",
        cell.main_cause or "",
        latency(cell.cold_ms),
        latency(cell.steady_ms),
        "; ".join(cell.sentences),
    )
