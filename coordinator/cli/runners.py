"""``portolan runner``: which runners there are; putting one on the chart, and taking it off."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from coordinator.cli.client import CoordinatorError
from coordinator.cli.options import AsJson, DataDir, Url, connect
from coordinator.cli.tables import print_columns

app = typer.Typer(no_args_is_help=True, help="The runners that the coordinator knows.")


@app.command("list")
def listed(url: Url = None, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """List the runners with their targets and states."""
    with connect(url, data_dir) as client:
        runners = client.runners()
    if as_json:
        print(json.dumps([runner.model_dump(mode="json") for runner in runners], indent=2))
        return
    print_columns(
        ("id", "target", "state", "hardware", "url", "in flight", "reason"),
        [
            (str(each.id), each.target, each.state, each.hardware, each.url, str(each.in_flight), each.reason or "")
            for each in runners
        ],
        empty="no runner is registered: `portolan up` starts some, `portolan runner register URL` adds one",
    )


@app.command("register")
def register(
    address: Annotated[str, typer.Argument(metavar="URL", help="Where the coordinator reaches the runner.")],
    secret_file: Annotated[Path | None, typer.Option(help="A file that holds the runner's secret.")] = None,
    secret_stdin: Annotated[bool, typer.Option("--secret-stdin", help="Read the secret from stdin.")] = False,
    url: Url = None,
    data_dir: DataDir = None,
) -> None:
    """Probe a runner and put it on the chart. Its secret may also be in $PORTOLAN_RUNNER_SECRET."""
    if secret_stdin and secret_file is not None:
        raise CoordinatorError("--secret-file and --secret-stdin exclude each other: give one of them")
    if secret_stdin:
        secret = sys.stdin.read()
    elif secret_file is not None:
        secret = secret_file.read_text()
    else:
        secret = os.environ.get("PORTOLAN_RUNNER_SECRET", "")
    with connect(url, data_dir) as client:
        runner = client.register(address, secret.strip())
    print(f"runner {runner.id}: {runner.target} on {runner.hardware}")


@app.command("remove")
def remove(
    runner_id: Annotated[int, typer.Argument(metavar="ID", min=1, help="As `portolan runner list` shows it.")],
    url: Url = None,
    data_dir: DataDir = None,
) -> None:
    """Take a runner off the chart; its jobs go back to the queue, its outcomes stay."""
    with connect(url, data_dir) as client:
        client.remove(runner_id)
    print(f"runner {runner_id} removed")
