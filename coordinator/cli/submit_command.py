"""``portolan submit`` plans a campaign and queues it. An option makes it wait for the campaign's end."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from enum import StrEnum
from functools import partial
from pathlib import Path
from secrets import token_hex
from typing import Annotated, Any

import typer
from pydantic import ValidationError

from coordinator.campaigns.models import CampaignDetail
from coordinator.catalogue.models import FunctionSample
from coordinator.cli.http_library import httpx
from coordinator.cli.matrix_printer import print_results
from coordinator.cli.outage_watch import OutageWatch, submit_and_announce, telling_what_continues
from coordinator.cli.progress import Board
from coordinator.cli.rest_client import Client
from coordinator.cli.shared_options import present, split, with_client
from coordinator.cli.terminal_console import console
from coordinator.errors import CatalogueError, CoordinatorAwayError
from coordinator.figures.formats import duration, plural
from coordinator.results.models import MatrixPage
from coordinator.results.summary import Section
from protocol.enums import DEFAULT_SUITE, TimedCases, TimingPolicy
from protocol.model import first_fault

INHERITED = {"suite", "targets", "functions", "runs", "timeout_s", "timing", "timed_cases", "verdicts_first"}
"""The members that a rerun inherits from its campaign unless options set them."""
SUBMIT_WITHIN_S = 30.0
"""The seconds for which a submission is repeated while the coordinator is unreachable."""


class LeftOver(StrEnum):
    """The kinds of bad outcomes that ``--rerun`` runs again, and for which ``--fail-on`` exits with code 1."""

    failed = "failed"
    incomplete = "incomplete"


@with_client
def submit(
    client: Client,
    suite: Annotated[str | None, typer.Option(help=f"The suite; default: {DEFAULT_SUITE}.")] = None,
    targets: Annotated[
        list[str] | None,
        typer.Option(help="Selectors of targets, such as 'torch@2.9/* */xla'; default: every live target."),
    ] = None,
    functions: Annotated[
        list[str] | None,
        typer.Option(
            help="Globs, such as 'torch.nn.* torch.sum'; default: all. Functions without a case in "
            "the suite are listed."
        ),
    ] = None,
    runs: Annotated[int | None, typer.Option(help="Runs of each case, each in a separate process; default: 3.")] = None,
    timeout: Annotated[float | None, typer.Option(help="Seconds per job; default: 900.")] = None,
    timing: Annotated[
        TimingPolicy | None,
        typer.Option(
            help="How calls are timed. Default: as the suite declares, or steady if it declares nothing. The "
            "suites `docs`, `library`, `library_quick` and `pairs` declare `off`."
        ),
    ] = None,
    timed_cases: Annotated[
        TimedCases | None,
        typer.Option(
            help="Time all cases of a function, or one. Default: as the suite declares, or all if it declares "
            "nothing. The suites `docs`, `library`, `library_quick` and `pairs` declare `representative`."
        ),
    ] = None,
    verdicts_first: Annotated[
        bool | None,
        typer.Option(
            "--verdicts-first/--timed-from-the-start",
            help="With --verdicts-first, run 1 is untimed and comes first, so that all verdicts are available before "
            "anything is timed; needs 2 runs or more. With --timed-from-the-start (default), run 1 is timed too.",
        ),
    ] = None,
    name: Annotated[str | None, typer.Option(help="Name of the campaign.")] = None,
    sample: Annotated[
        Path | None,
        typer.Option(help="Chart exactly the functions of this file from `portolan catalogue sample --out`."),
    ] = None,
    rerun: Annotated[
        tuple[LeftOver, int] | None,
        typer.Option(
            metavar="failed|incomplete CAMPAIGN",
            help="`failed CAMPAIGN` or `incomplete CAMPAIGN`: run only these cases of the campaign again. Other "
            "options default to those of the campaign.",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the number of jobs and the estimated time, and submit nothing.")
    ] = False,
    wait: Annotated[
        bool,
        typer.Option(
            "--wait", help="Show progress, and the matrix at the end. Ctrl-C stops watching, not the campaign."
        ),
    ] = False,
    fail_on: Annotated[
        list[LeftOver] | None,
        typer.Option(
            help="Wait, and exit with code 1 if there is an outcome of this kind or the campaign was cancelled."
        ),
    ] = None,
) -> None:
    """Submit a campaign and print its number."""
    request = present(
        name=name,
        suite=suite,
        targets=split(targets) or None,
        functions=split(functions) or None,
        runs=runs,
        timeout_s=timeout,
        timing=timing,
        timed_cases=timed_cases,
        verdicts_first=verdicts_first,
        sample=_read_sample(sample) if sample is not None else None,
    )
    if rerun is not None:
        which, earlier = rerun
        # Values that are not given are those of the earlier campaign.
        earlier_values = client.campaign(earlier).model_dump(mode="json", include=INHERITED)
        if verdicts_first is None and (runs == 1 or timing is TimingPolicy.off):
            earlier_values["verdicts_first"] = False
        request = {**earlier_values, **request, "rerun": {"campaign": earlier, "which": which}}
    if dry_run:
        plan = client.dry_run(request)
        print(f"{plural(plan.jobs, 'job')}: {plural(plan.cases, 'case')} of {plural(plan.functions, 'function')}")
        print(f"on {', '.join(plan.targets)}")
        seconds = plan.estimate.seconds
        print(f"estimated time: {'unknown' if seconds is None else duration(seconds)}")
        _say_not_charted(plan.not_charted)
        return
    with submit_and_announce(client.url, partial(_submit, client, request)) as campaign:
        print(campaign.id, flush=True)
    _say_not_charted(campaign.not_charted)
    if not wait and not fail_on:
        return
    campaign_end, matrix, summary = _wait(client, campaign.id)
    print_results(matrix, summary, console())
    if fail_on and (
        campaign_end.state == "cancelled" or any(getattr(campaign_end.counters, verdict) for verdict in fail_on)
    ):
        raise typer.Exit(1)


def _submit(client: Client, request: dict[str, Any]) -> CampaignDetail:
    """Submit exactly once. The request is repeated with the same key if there is no response, because the campaign may
    be stored already."""
    key = token_hex(16)
    try:
        return client.submit(request, key)
    except CoordinatorAwayError as error:
        if isinstance(error.__cause__, httpx.ConnectError | httpx.ConnectTimeout):
            raise
        watch = OutageWatch(lambda line: print(line, file=sys.stderr), client.url, limit_s=SUBMIT_WITHIN_S)
        watch.note_failure(error)
    return watch.retry(lambda: client.submit(request, key))


def _read_sample(file: Path) -> dict[str, Any]:
    try:
        return FunctionSample.model_validate_json(file.read_bytes()).model_dump(mode="json")
    except OSError as error:
        raise CatalogueError(f"--sample {file}: {(error.strerror or str(error)).lower()}; {_MADE_BY}") from error
    except ValidationError as error:
        raise CatalogueError(f"--sample {file} is not a sample ({first_fault(error)}): {_MADE_BY}") from error


_MADE_BY = "create one with `portolan catalogue sample SURFACE --out FILE`"


def _say_not_charted(functions: Sequence[str]) -> None:
    """Print the requested functions that have no case in the suite, because the results do not contain them."""
    if functions:
        print(f"not charted, because the suite has no case of them: {', '.join(functions)}", file=sys.stderr)


def _wait(client: Client, campaign_id: int) -> tuple[CampaignDetail, MatrixPage, Sequence[Section]]:
    """Show progress until the campaign has ended. Returns the campaign, its matrix and its summary."""
    campaign: CampaignDetail | None = None
    with telling_what_continues(client.url, campaign_id), Board() as board:
        watch = OutageWatch(board.say, client.url, campaign_id)
        for campaign in watch.follow(client, campaign_id):
            board.show(campaign.by_target)
        matrix = watch.retry(lambda: client.matrix(campaign_id))
        summary = watch.retry(lambda: client.summary(campaign_id))
    assert campaign is not None
    if campaign.state == "cancelled":
        print(f"campaign {campaign_id} was cancelled", file=sys.stderr)
    return campaign, matrix, summary
