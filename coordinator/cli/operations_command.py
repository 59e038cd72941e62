"""``portolan operations`` shows which of a framework's own operations fell back, failed or lack a lowering."""

from __future__ import annotations

from typing import Annotated

import typer

from coordinator.cli.output import print_columns, print_json
from coordinator.cli.rest_client import Client
from coordinator.cli.shared_options import AsJson, CampaignId, with_client
from coordinator.figures.formats import join_words
from coordinator.results.operations import OperationCase, OperationSummary

SUMMARIES = ("operation", "target", "fell back", "failed", "diverged", "not lowered", "functions")
CASES = ("function", "case", "target", "met", "runs", "details")
NAMED = 4
"""The maximum number of functions in a line; --json has all."""


@with_client
def operations(
    client: Client,
    campaign_id: CampaignId,
    operation: Annotated[
        str | None,
        typer.Argument(help="Name of an operation in the framework, such as aten::isin: show its functions and cases."),
    ] = None,
    name: Annotated[str, typer.Option(help="Only operations whose name contains this text.")] = "",
    as_json: AsJson = False,
) -> None:
    """List operations that fell back, failed or lack a lowering. With OPERATION, list the cases that used it."""
    if operation is not None:
        cases = client.operation_cases(campaign_id, operation)
        if as_json:
            print_json(cases)
        else:
            print_columns(CASES, [_case(case) for case in cases.cases], "no case")
        return
    campaign_operations = client.operations(campaign_id, name)
    if as_json:
        print_json(campaign_operations)
    else:
        empty = "no evidence names an operation that fell back, failed or lacks a lowering"
        print_columns(SUMMARIES, [_summary(row) for row in campaign_operations.operations], empty)


def _summary(row: OperationSummary) -> tuple[str, ...]:
    counts = (row.fell_back, row.failed, row.diverged, row.not_lowered)
    return row.operation, row.target, *(str(count or "") for count in counts), join_words(row.functions, NAMED)


def _case(case: OperationCase) -> tuple[str, ...]:
    times = f"{case.times} times on the host" if case.times else ""
    details = (times, case.cause, ", ".join(case.dtypes), f"kernels: {case.kernels}" if case.kernels else "")
    words = case.met.replace("_", " ")
    return case.function, case.case, case.target, words, str(case.runs), "; ".join(filter(None, details))
