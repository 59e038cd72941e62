"""``portolan submit``, ``status`` and ``cancel``: campaigns from the command line."""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from typing import Annotated, Any

import typer

from coordinator.campaigns.models import Campaign, CampaignDetail
from coordinator.cli.client import Client
from coordinator.cli.matrix import print_matrix, print_summary
from coordinator.cli.options import AsJson, CampaignId, DataDir, Url, connect, split
from coordinator.cli.patience import follow, of_campaigns
from coordinator.cli.progress import Board, bars, settled
from coordinator.cli.tables import console, print_columns
from coordinator.formats import duration, plural
from coordinator.results.models import MatrixPage
from coordinator.results.summary import Section
from protocol.enums import DEFAULT_SUITE, TimingPolicy


class LeftOver(StrEnum):
    """What a campaign can leave behind, to be run again or to fail a pipeline."""

    failed = "failed"
    incomplete = "incomplete"


def submit(
    suite: Annotated[str | None, typer.Option(help=f"Which suite; {DEFAULT_SUITE} unless given.")] = None,
    targets: Annotated[
        list[str] | None, typer.Option(help="Selectors such as torch/cpu, torch@2.9/* or */xla; all unless given.")
    ] = None,
    functions: Annotated[list[str] | None, typer.Option(help="Globs such as torch.nn.*; all unless given.")] = None,
    runs: Annotated[int | None, typer.Option(help="How often each case runs, in processes of their own; 3.")] = None,
    timeout: Annotated[float | None, typer.Option(help="Seconds that one case may take; 900.")] = None,
    timing: Annotated[TimingPolicy | None, typer.Option(help="How calls are timed; steady.")] = None,
    name: Annotated[str | None, typer.Option(help="What to call the campaign.")] = None,
    rerun: Annotated[
        tuple[LeftOver, int] | None,
        typer.Option(metavar="failed|incomplete CAMPAIGN", help="Only what that campaign left failed, or incomplete."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would run, and submit nothing.")] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Show progress, and the matrix at the end.")] = False,
    fail_on: Annotated[
        list[LeftOver] | None,
        typer.Option(help="Wait, and exit with 1 if there is such an outcome, or if it was cancelled."),
    ] = None,
    url: Url = None,
    data_dir: DataDir = None,
) -> None:
    """Submit a campaign and print its number."""
    given: dict[str, Any] = {
        "name": name,
        "suite": suite,
        "targets": split(targets) or None,
        "functions": split(functions) or None,
        "runs": runs,
        "timeout_s": timeout,
        "timing": timing,
    }
    request = {field: value for field, value in given.items() if value is not None}
    with connect(url, data_dir) as client:
        if rerun is not None:
            which, earlier = rerun
            # What is not said is as it was.
            inherited = client.campaign(earlier).model_dump(mode="json", include=given.keys() - {"name"})
            request = {**inherited, **request, "rerun": {"campaign": earlier, "which": which}}
        if dry_run:
            plan = client.dry_run(request)
            print(f"{plural(plan.jobs, 'job')}: {plural(plan.cases, 'case')} of {plural(plan.functions, 'function')}")
            print(f"on {', '.join(plan.targets)}")
            seconds = plan.estimate.seconds
            print(f"estimated time: {'unknown' if seconds is None else duration(seconds)}")
            return
        campaign = client.submit(request)
        print(campaign.id, flush=True)
        if not wait and not fail_on:
            return
        ended, matrix, summary = _wait(client, campaign.id)
    out = console()
    print_matrix(matrix, out)
    print_summary(summary, out)
    if fail_on and (ended.state == "cancelled" or any(getattr(ended.counters, each) for each in fail_on)):
        raise typer.Exit(1)


def _wait(client: Client, campaign_id: int) -> tuple[CampaignDetail, MatrixPage, list[Section]]:
    """Show progress until the campaign has ended; the campaign, its matrix and its summary."""
    campaign: CampaignDetail | None = None
    try:
        with Board() as board:
            patience = of_campaigns(board.say, client.url, campaign_id)
            for campaign in follow(client, campaign_id, patience):
                board.show(bars(campaign))
            matrix = patience.ask(lambda: client.matrix(campaign_id))
            summary = patience.ask(lambda: client.summary(campaign_id))
    except KeyboardInterrupt:
        print(
            f"campaign {campaign_id} goes on: `portolan status {campaign_id}` shows it, "
            f"`portolan cancel {campaign_id}` ends it",
            file=sys.stderr,
        )
        raise
    assert campaign is not None
    if campaign.state == "cancelled":
        print(f"campaign {campaign_id} was cancelled", file=sys.stderr)
    return campaign, matrix, summary


def status(
    campaign_id: Annotated[int | None, typer.Argument(metavar="[CAMPAIGN]", min=1, show_default=False)] = None,
    as_json: AsJson = False,
    url: Url = None,
    data_dir: DataDir = None,
) -> None:
    """List the latest campaigns, or tell of one."""
    with connect(url, data_dir) as client:
        if campaign_id is None:
            page = client.campaigns()
            if as_json:
                print(json.dumps([each.model_dump(mode="json") for each in page.campaigns], indent=2))
            else:
                _print_list(page.campaigns)
            return
        campaign = client.campaign(campaign_id)
    if as_json:
        print(campaign.model_dump_json(indent=2))
    else:
        _print_one(campaign)


def _print_list(campaigns: list[Campaign]) -> None:
    print_columns(
        ("id", "name", "state", "done", "failed", "incomplete", "left", "submitted"),
        [
            (
                str(each.id),
                each.name,
                each.state,
                f"{settled(each.counters)}/{each.counters.total}",
                str(each.counters.failed),
                str(each.counters.incomplete),
                duration(each.estimate.seconds) if each.state == "running" else "",
                f"{each.created_at:%Y-%m-%d %H:%M}",
            )
            for each in campaigns
        ],
        empty="no campaign yet: `portolan submit` makes one",
    )


def _print_one(campaign: CampaignDetail) -> None:
    print(f"campaign {campaign.id}, {campaign.name}: {campaign.state}")
    print(
        f"suite {campaign.suite}, functions {' '.join(campaign.functions)}, {plural(campaign.runs, 'run')}, "
        f"timeout {campaign.timeout_s:g} s, timing {campaign.timing}"
    )
    if campaign.imported_at is not None:
        print(f"imported {campaign.imported_at:%Y-%m-%d %H:%M}, begun {campaign.created_at:%Y-%m-%d %H:%M}")
    if campaign.rerun_of is not None:
        print(f"rerun of campaign {campaign.rerun_of}")
    print_columns(
        ("target", "hardware", "done", "passed", "failed", "skipped", "incomplete", "cancelled", "left", "runners"),
        [
            (
                each.target,
                each.hardware,
                f"{settled(each.counters)}/{each.counters.total}",
                *(
                    str(getattr(each.counters, word))
                    for word in ("passed", "failed", "skipped", "incomplete", "cancelled")
                ),
                duration(each.estimate.seconds) if campaign.state == "running" else "",
                str(each.live_runners),
            )
            for each in campaign.by_target
        ],
        empty="it has no target",
    )
    if campaign.state == "running":
        for target in campaign.by_target:
            for sentence in target.held_up_by:
                print(f"{target.target}: {sentence}")


def cancel(campaign_id: CampaignId, url: Url = None, data_dir: DataDir = None) -> None:
    """Cancel what is not done yet; the outcomes so far stay."""
    with connect(url, data_dir) as client:
        campaign = client.cancel(campaign_id)
    counters = campaign.counters
    print(f"campaign {campaign_id}: {plural(counters.cancelled, 'job')} cancelled, {counters.done} were done")
