"""``portolan reclassify`` and ``override``: apply the current rules, or a cause set by hand, to stored outcomes."""

from __future__ import annotations

from typing import Annotated

import typer

from coordinator.cli.rest_client import Client
from coordinator.cli.shared_options import CampaignId, with_client
from coordinator.errors import CoordinatorError
from coordinator.figures.formats import plural
from protocol.enums import Cause


@with_client
def reclassify(
    client: Client,
    campaign_id: Annotated[int | None, typer.Argument(metavar="[CAMPAIGN]", min=1, show_default=False)] = None,
) -> None:
    """Apply the current rules for causes to the stored outcomes of one campaign, or of all campaigns."""
    result = client.reclassify(campaign_id)
    print(f"{result.changed} of {plural(result.looked_at, 'outcome')} that did not pass changed (rules {result.rules})")
    for change in result.changes:
        print(f"  {change.outcomes}: {change.was} ({change.was_rule}) → {change.now} ({change.now_rule})")
    if result.overridden:
        print(f"  {plural(result.overridden, 'outcome')} keep the cause that a person set")


@with_client
def override(
    client: Client,
    campaign_id: CampaignId,
    case: Annotated[
        str | None, typer.Argument(metavar="[CASE]", help="Id of the case; without it, list the overrides.")
    ] = None,
    target: Annotated[str | None, typer.Option(help="One target of the campaign, such as torch/xla.")] = None,
    cause: Annotated[Cause | None, typer.Option(help="The cause to set.")] = None,
    why: Annotated[str | None, typer.Option(help="The reason for this cause.")] = None,
    undo: Annotated[bool, typer.Option("--undo", help="Remove the override: the rules apply again.")] = False,
) -> None:
    """Set by hand the cause of a case on a target, for all runs of the case that did not pass. The name of your token
    is stored with the cause."""
    if case is not None and target is None:
        raise CoordinatorError("an override needs a target: add --target, such as torch/xla")
    if case is not None and not undo and (cause is None or why is None):
        raise CoordinatorError("an override needs --cause and --why: add both, or remove an override with --undo")
    if case is None:
        for word in client.overrides(campaign_id):
            print(f"{word.target}  {word.case}\n  {word.cause}, {word.by} on {word.at:%Y-%m-%d}: {word.why}")
    elif undo:
        client.undo_override(campaign_id, case, str(target))
        print(f"{case}: the rules apply again")
    else:
        request = {"case": case, "target": target, "cause": cause, "why": why}
        result = client.override(campaign_id, request)
        print(f"{result.target}  {result.case}: {result.cause}, {result.verdict}, for {plural(result.outcomes, 'run')}")
