"""``portolan delete``: delete campaigns and suites permanently."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from coordinator.cli.output import print_columns, print_json
from coordinator.cli.rest_client import Client
from coordinator.cli.shared_options import AsJson, CampaignId, with_client
from coordinator.errors import CoordinatorError
from coordinator.figures.formats import plural

if TYPE_CHECKING:
    from coordinator.deletion.models import StoredSuite

Yes = Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")]

app = typer.Typer(no_args_is_help=True, help="Delete campaigns and suites permanently.")


@app.command("campaign")
@with_client
def campaign(client: Client, campaign_id: CampaignId, yes: Yes = False) -> None:
    """Delete an ended campaign with its jobs, outcomes and overrides. For an imported campaign, also delete the suite
    of its bundle, unless another campaign or a runner has it.
    """
    detail = client.campaign(campaign_id)
    _ask(f"campaign {campaign_id}, {detail.name}, with {plural(detail.counters.done, 'outcome')}", yes)
    deletion = client.delete_campaign(campaign_id)
    rows = f"{plural(deletion.jobs, 'job')} and {plural(deletion.outcomes, 'outcome')}"
    print(f"campaign {campaign_id}: deleted, with {rows}")


@app.command("suite")
@with_client
def suite(
    client: Client,
    suite_id: Annotated[int | None, typer.Argument(metavar="[SUITE]", min=1, show_default=False)] = None,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Delete one revision of a suite, by its number; without a number, list all suites and what uses them."""
    suites = client.suites()
    if suite_id is None:
        if as_json:
            print_json(suites)
            return
        print_columns(
            ("id", "framework", "suite", "revision", "of", "cases", "campaigns", "runners"),
            [
                (
                    *(
                        str(stored_suite.id),
                        stored_suite.framework,
                        stored_suite.name,
                        stored_suite.revision,
                        stored_suite.origin,
                        str(stored_suite.cases),
                    ),
                    *(" ".join(map(str, ids)) or "none" for ids in (stored_suite.campaigns, stored_suite.runners)),
                )
                for stored_suite in suites
            ],
            empty="no suite is stored: register a runner first",
        )
        return
    for listed_suite in suites:
        if listed_suite.id == suite_id:
            _ask(_describe(listed_suite), yes)
    print(f"{_describe(client.delete_suite(suite_id))}: deleted")


def _describe(suite: StoredSuite) -> str:
    return f"{suite.name} of {suite.framework}, revision {suite.revision}, with {plural(suite.cases, 'case')}"


def _ask(what: str, yes: bool) -> None:
    if yes:
        return
    if not sys.stdin.isatty():
        raise CoordinatorError("cannot ask for confirmation without a terminal: add --yes")
    typer.confirm(f"Delete {what}?", abort=True)
