"""``portolan status``, ``cancel`` and ``import``: campaigns from the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from coordinator.campaigns.models import Campaign, CampaignDetail
from coordinator.cli.output import print_columns, print_json
from coordinator.cli.rest_client import Client
from coordinator.cli.shared_options import AsJson, CampaignId, SignatureOptional, split, with_client
from coordinator.figures.formats import plural


@with_client
def status(
    client: Client,
    campaign_id: Annotated[int | None, typer.Argument(metavar="[CAMPAIGN]", min=1, show_default=False)] = None,
    as_json: AsJson = False,
) -> None:
    """List the latest campaigns, or describe one."""
    if campaign_id is None:
        page = client.campaigns()
        if as_json:
            print_json(page.campaigns)
        else:
            _print_list(page.campaigns)
        return
    campaign = client.campaign(campaign_id)
    if as_json:
        print_json(campaign)
    else:
        _print_one(campaign)


def _print_list(campaigns: list[Campaign]) -> None:
    print_columns(
        ("id", "name", "state", "done", "failed", "incomplete", "left", "submitted"),
        [
            (
                str(campaign.id),
                campaign.name,
                campaign.state,
                f"{campaign.counters.settled}/{campaign.counters.total}",
                str(campaign.counters.failed),
                str(campaign.counters.incomplete),
                campaign.estimate.words if campaign.state == "running" else "",
                f"{campaign.created_at:%Y-%m-%d %H:%M}",
            )
            for campaign in campaigns
        ],
        empty="there is no campaign yet: submit one with `portolan submit`",
    )


def _print_one(campaign: CampaignDetail) -> None:
    print(f"campaign {campaign.id}, {campaign.name}: {campaign.state}")
    print(
        f"suite {campaign.suite}, functions {' '.join(campaign.functions)}, {plural(campaign.runs, 'run')}, "
        f"timeout {campaign.timeout_s:g} s, timing {campaign.timed}"
    )
    if campaign.imported_at is not None:
        print(
            f"imported {campaign.imported_at:%Y-%m-%d %H:%M}, begun {campaign.created_at:%Y-%m-%d %H:%M}, "
            f"{_signature(campaign)}"
        )
    if campaign.sample is not None:
        print(f"its functions are the sample {campaign.sample}")
    if campaign.rerun_of is not None:
        print(f"rerun of campaign {campaign.rerun_of}")
    print_columns(
        ("target", "hardware", "done", "passed", "failed", "skipped", "incomplete", "cancelled", "left", "runners"),
        [
            (
                target.target,
                target.hardware,
                f"{target.counters.settled}/{target.counters.total}",
                *(
                    str(getattr(target.counters, word))
                    for word in ("passed", "failed", "skipped", "incomplete", "cancelled")
                ),
                target.estimate.words if campaign.state == "running" else "",
                str(target.live_runners),
            )
            for target in campaign.by_target
        ],
        empty="it has no target",
    )
    if campaign.state == "running":
        for target in campaign.by_target:
            for sentence in target.held_up_by:
                print(f"{target.target}: {sentence}")


@with_client
def cancel(
    client: Client,
    campaign_id: CampaignId,
    targets: Annotated[
        list[str] | None, typer.Option(help="Only on these targets, such as 'torch/xla jax/*'; default: on all.")
    ] = None,
) -> None:
    """Cancel the jobs that are not done yet. Stored outcomes stay."""
    campaign = client.cancel(campaign_id, split(targets))
    counters = campaign.counters
    print(f"campaign {campaign_id}: {plural(counters.cancelled, 'job')} cancelled, {counters.done} were done")


@with_client
def import_(
    client: Client,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file of `portolan-runner run … --out FILE`.")],
    name: Annotated[str | None, typer.Option(help="Name of the campaign.")] = None,
    accept_unsigned: SignatureOptional = False,
) -> None:
    """Store a bundle as a campaign, unless the same bundle is already stored.

    A key that the coordinator trusts must have made the signature FILE.sig. With --unsigned, FILE.sig may be missing.
    """
    from coordinator.bundles.reader import require_size
    from coordinator.bundles.signature import require_signature

    # Check size and signature here: if the coordinator refuses an upload midway, its reason may not arrive.
    require_size(file.stat().st_size)
    if not accept_unsigned:
        require_signature(file)
    campaign, is_new = client.import_bundle(file, name, accept_unsigned=accept_unsigned)
    if not is_new:
        print(
            f"campaign {campaign.id}: this bundle is already stored, imported {campaign.imported_at:%Y-%m-%d %H:%M}, "
            f"{_signature(campaign)}"
        )
        return
    (target,) = campaign.by_target
    print(
        f"campaign {campaign.id}: {plural(campaign.counters.done, 'outcome')} of {target.target} on {target.hardware}, "
        f"{_signature(campaign)}"
    )


def _signature(campaign: CampaignDetail) -> str:
    return f"signed by {campaign.signed_by}" if campaign.signed_by else "unsigned"
