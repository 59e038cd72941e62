"""``portolan delete``: campaigns and suites, for good."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from coordinator.cli.output import print_columns, print_json
from coordinator.cli.rest_client import Client
from coordinator.cli.shared_options import AsJson, CampaignId, with_client
from coordinator.errors import CoordinatorError
from coordinator.formats import plural

Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]

app = typer.Typer(no_args_is_help=True, help="Campaigns and suites, for good.")


@app.command("campaign")
@with_client
def campaign(client: Client, campaign_id: CampaignId, yes: Yes = False) -> None:
    """Delete a campaign that is over, with its jobs, outcomes and overrides; of a bundle, what it brought."""
    found = client.campaign(campaign_id)
    _ask(f"campaign {campaign_id}, {found.name}, with {plural(found.counters.done, 'outcome')}", yes)
    gone = client.delete_campaign(campaign_id)
    print(f"campaign {campaign_id}: deleted, with {plural(gone.jobs, 'job')} and {plural(gone.outcomes, 'outcome')}")


@app.command("suite")
@with_client
def suite(
    client: Client,
    suite_id: Annotated[int | None, typer.Argument(metavar="[SUITE]", min=1, show_default=False)] = None,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Delete a suite under one revision, by its number; without one, list all, and what each is kept by."""
    suites = client.suites()
    if suite_id is None:
        if as_json:
            print_json(suites)
            return
        print_columns(
            ("id", "framework", "suite", "revision", "of", "cases", "campaigns", "runners"),
            [
                (
                    *(str(found.id), found.framework, found.name, found.revision, found.origin, str(found.cases)),
                    *(" ".join(map(str, ids)) or "none" for ids in (found.campaigns, found.runners)),
                )
                for found in suites
            ],
            empty="no suite is stored: the first runner brings some",
        )
        return
    for found in suites:
        if found.id == suite_id:
            _ask(f"{found.name} of {found.framework}, revision {found.revision}, {plural(found.cases, 'case')}", yes)
    gone = client.delete_suite(suite_id)
    print(f"{gone.name} of {gone.framework}, revision {gone.revision}: deleted, with {plural(gone.cases, 'case')}")


def _ask(what: str, yes: bool) -> None:
    if yes:
        return
    if not sys.stdin.isatty():
        raise CoordinatorError("nobody is at the terminal to be asked: say --yes")
    typer.confirm(f"Delete {what}?", abort=True)
