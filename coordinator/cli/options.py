"""Options that several commands share, and what they mean."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from coordinator.cli.client import Client
from coordinator.cli.directory import DataDirectory, find_url

Url = Annotated[
    str | None,
    typer.Option("--url", help="The coordinator's address; else $PORTOLAN_URL, else the local instance's."),
]
DataDir = Annotated[
    Path | None,
    typer.Option("--data-dir", help="Data directory of the local instance; else $PORTOLAN_DATA, else the default."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
CampaignId = Annotated[int, typer.Argument(metavar="CAMPAIGN", min=1, help="Its number, as `portolan status` lists.")]


def connect(url: str | None, data_dir: Path | None = None) -> Client:
    return Client(find_url(url, DataDirectory(data_dir)))


def split(values: Iterable[str] | None) -> list[str]:
    """The entries of a repeatable option, each of which may hold several, parted by spaces or commas."""
    return [part for value in values or () for part in re.split(r"[\s,]+", value) if part]
