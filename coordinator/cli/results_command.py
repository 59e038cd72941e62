"""``portolan results`` shows a campaign's outcomes on the terminal, or writes them to a file."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.console import Console

from coordinator.causes.rules import readable
from coordinator.cli.matrix_printer import print_results
from coordinator.cli.output import console_of, writing
from coordinator.cli.rest_client import Client
from coordinator.cli.shared_options import CampaignId, Rule, present, with_client
from coordinator.errors import CoordinatorError
from coordinator.figures.counting import ANYWHERE, CountingRule, rule_named
from coordinator.figures.formats import join_words, plural
from protocol.enums import Cause, Ending, Placement, Verdict

LISTED = 50
"""The maximum number of outcomes below the matrix; files have all."""
NAMED = 3
"""The maximum number of operations listed for an outcome; files have all."""
OF_OUTCOMES = ("verdict", "cause", "placement", "ending")
"""Filters that select some outcomes of a function. Without any of them, only failed outcomes are listed."""

Format = Literal["table", "csv", "json", "parquet"]


@with_client
def results(
    client: Client,
    campaign_id: CampaignId,
    format: Annotated[Format, typer.Option(help="Output format; table shows the matrix and the failures.")] = "table",
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write to this file.")] = None,
    verdict: Annotated[
        Verdict | None, typer.Option(help="Only outcomes with this verdict; without it, the table lists failed ones.")
    ] = None,
    cause: Annotated[Cause | None, typer.Option(help="Only outcomes with this cause.")] = None,
    falls_back: Annotated[
        bool, typer.Option("--falls-back", help="Only outcomes that the framework silently ran on the host.")
    ] = False,
    wrong: Annotated[bool, typer.Option("--wrong", help="Only outcomes with a wrong value and no error.")] = False,
    function: Annotated[str | None, typer.Option(help="Only functions that this glob matches.")] = None,
    device: Annotated[str | None, typer.Option(help="Only this device, such as xla.")] = None,
    rule: Rule = ANYWHERE.name,
) -> None:
    """Show or export the outcomes of a campaign, with the command that repeats each failure."""
    filters = present(
        rule=rule,
        verdict=verdict,
        cause=cause,
        placement=Placement.fell_back if falls_back else None,
        ending=Ending.mismatched if wrong else None,
        function=function,
        device=device,
    )
    if format == "parquet" and output is None and sys.stdout.isatty():
        raise CoordinatorError("parquet cannot be printed on a terminal: write it to a file with --output")
    if format == "table":
        with console_of(output) as out:
            _print_table(client, campaign_id, filters, out)
        return
    if format == "json":
        pieces = _json(client.outcomes(campaign_id, filters))
    else:
        pieces = client.export(campaign_id, format, filters)
    with writing(output) as sink:
        for piece in pieces:
            sink.write(piece)


def _print_table(client: Client, campaign_id: int, filters: dict[str, Any], out: Console) -> None:
    function, device = filters.get("function"), filters.get("device")
    rule = rule_named(filters["rule"])
    matrix = client.matrix(campaign_id, function, device, rule.name)
    print_results(matrix, client.summary(campaign_id, function, device), out)
    if function is not None:
        _print_conditions(client, campaign_id, function, device, out)
    own_filters = {name: filters[name] for name in OF_OUTCOMES if name in filters}
    listed_by = own_filters or {"verdict": Verdict.failed}
    entries = _outcome_entries(client.outcomes(campaign_id, {**filters, **listed_by}), rule)
    if entries or own_filters:
        heading = ", ".join(word.replace("_", " ") for word in listed_by.values())
        out.print(f"\n{heading}:{'' if entries else ' none'}")
    for line in entries[:LISTED]:
        out.print(line, soft_wrap=True)
    if len(entries) > LISTED:
        out.print(f"… and {plural(len(entries) - LISTED, 'case')} more: --format csv has all, --function narrows")


def _print_conditions(client: Client, campaign_id: int, function: str, device: str | None, out: Console) -> None:
    """Print how many cases fail or fall back, and with which options, for each function with such cases."""
    rows = client.conditions(campaign_id, function, device).rows
    for row in rows[:LISTED]:
        out.print(f"{row.function} on {row.target}: {'; '.join(row.sentences)}", soft_wrap=True, markup=False)
    if len(rows) > LISTED:
        out.print(f"… and {plural(len(rows) - LISTED, 'condition')} more: --function narrows")


def _outcome_entries(outcomes: Iterable[dict[str, Any]], rule: CountingRule) -> list[str]:
    """One entry per case and target: why the case failed, and the command that repeats it."""
    runs: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in outcomes:
        target = f"{row['framework']}@{row['version']}/{row['device']}"
        runs.setdefault((target, row["case"]), []).append(row)
    entries = []
    for (target, case), rows in runs.items():
        first = rows[0]
        times = f" ({len(rows)} runs)" if len(rows) > 1 else ""
        cause = first[rule.cause_column] or first[rule.verdict_column]
        entries.append(f"{target}  {case}{times}\n  {cause}: {_reason(first)}\n  {first['repeat']}")
    return entries


def _reason(outcome: dict[str, Any]) -> str:
    """The message of the outcome. Without a message, the operations that ran on the host."""
    if outcome["said"]:
        return " ".join(readable(outcome["said"]).split())[:200]
    return join_words([f"{name} ran on the host" for name in outcome["fallbacks"] or ()], NAMED)


def _json(rows: Iterable[dict[str, Any]]) -> Iterator[bytes]:
    """A JSON array with one outcome per line."""
    opening = "["
    for row in rows:
        yield f"{opening}\n{json.dumps(row, ensure_ascii=False)}".encode()
        opening = ","
    yield b"[]\n" if opening == "[" else b"\n]\n"
