"""Options that several commands share, and what they mean."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from coordinator.cli.client import Client
from coordinator.cli.directory import DataDirectory, find_url
from coordinator.errors import CoordinatorError

Url = Annotated[
    str | None,
    typer.Option("--url", help="The coordinator's address; else $PORTOLAN_URL, else the local instance's."),
]
DataDir = Annotated[
    Path | None,
    typer.Option("--data-dir", help="Data directory of the local instance; else $PORTOLAN_DATA, else the default."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
SecretFile = Annotated[Path | None, typer.Option(help="A file that holds the runner's secret.")]
SecretStdin = Annotated[bool, typer.Option("--secret-stdin", help="Read the secret from stdin.")]
CampaignId = Annotated[int, typer.Argument(metavar="CAMPAIGN", min=1, help="Its number, as `portolan status` lists.")]


def connect(url: str | None, data_dir: Path | None = None) -> Client:
    return Client(find_url(url, DataDirectory(data_dir)))


def split(values: Iterable[str] | None) -> list[str]:
    """The entries of a repeatable option, each of which may hold several, parted by spaces or commas."""
    return [part for value in values or () for part in re.split(r"[\s,]+", value) if part]


def read_secret(file: Path | None, from_stdin: bool) -> str:
    """The runner's secret, wherever it is; empty if nobody gave one."""
    if from_stdin and file is not None:
        raise CoordinatorError("--secret-file and --secret-stdin exclude each other: give one of them")
    if from_stdin:
        return sys.stdin.read().strip()
    if file is not None:
        try:
            return file.read_text().strip()
        except UnicodeDecodeError as error:
            raise CoordinatorError(f"--secret-file {file} holds no text: give the file of the secret") from error
    return os.environ.get("PORTOLAN_RUNNER_SECRET", "").strip()
