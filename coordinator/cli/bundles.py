"""``portolan import``: a bundle that ``portolan-runner run --out`` made becomes a campaign."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from coordinator.bundles.reader import require_size
from coordinator.cli.client import Client
from coordinator.cli.options import with_client
from coordinator.formats import plural


@with_client
def import_(
    client: Client,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What `portolan-runner run … --out FILE` wrote.")],
    name: Annotated[str | None, typer.Option(help="What to call the campaign.")] = None,
) -> None:
    """Store a bundle as a campaign; the same bundle is stored once, however often it is imported."""
    # Refused here: a coordinator that refuses an upload in its middle may not get to say why.
    require_size(file.stat().st_size)
    campaign, is_new = client.import_bundle(file, name)
    if not is_new:
        print(f"campaign {campaign.id}: this bundle is here already, imported {campaign.imported_at:%Y-%m-%d %H:%M}")
        return
    (target,) = campaign.by_target
    print(
        f"campaign {campaign.id}: {plural(campaign.counters.done, 'outcome')} of {target.target} on {target.hardware}"
    )
