"""``portolan import``: a bundle that ``portolan-runner run --out`` made becomes a campaign."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from coordinator.bundles.reader import require_size
from coordinator.cli.options import DataDir, Url, connect
from coordinator.formats import plural


def import_(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What `portolan-runner run … --out FILE` wrote.")],
    name: Annotated[str | None, typer.Option(help="What to call the campaign.")] = None,
    url: Url = None,
    data_dir: DataDir = None,
) -> None:
    """Store a bundle as a campaign; the same bundle is stored once, however often it is imported."""
    # Said here: a coordinator that refuses an upload in its middle may not get to say why.
    require_size(file.stat().st_size)
    with connect(url, data_dir) as client:
        campaign, is_new = client.import_bundle(file, name)
    if not is_new:
        print(f"campaign {campaign.id}: this bundle is here already, imported {campaign.imported_at:%Y-%m-%d %H:%M}")
        return
    (target,) = campaign.by_target
    print(
        f"campaign {campaign.id}: {plural(campaign.counters.done, 'outcome')} of {target.target} on {target.hardware}"
    )
