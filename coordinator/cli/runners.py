"""``portolan runner``: which runners there are; putting one on the chart, and taking it off.

Holding one to the contract is in ``conformance.py``.
"""

from __future__ import annotations

import json
from typing import Annotated

import typer

from coordinator.cli.conformance import check
from coordinator.cli.options import AsJson, DataDir, SecretFile, SecretStdin, Url, connect, read_secret
from coordinator.cli.tables import print_columns

app = typer.Typer(no_args_is_help=True, help="The runners that the coordinator knows.")
app.command("check")(check)


@app.command("list")
def listed(url: Url = None, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """List the runners with their targets and states."""
    with connect(url, data_dir) as client:
        runners = client.runners()
    if as_json:
        print(json.dumps([runner.model_dump(mode="json") for runner in runners], indent=2))
        return
    print_columns(
        ("id", "name", "target", "state", "hardware", "url", "in flight", "reason"),
        [
            (
                *(str(each.id), each.name or "", each.target, each.state, each.hardware, each.url),
                *(str(each.in_flight), each.reason or ""),
            )
            for each in runners
        ],
        empty="no runner is registered: `portolan up` starts some, `portolan runner register URL` adds one",
    )


@app.command("register")
def register(
    address: Annotated[str, typer.Argument(metavar="URL", help="Where the coordinator reaches the runner.")],
    secret_file: SecretFile = None,
    secret_stdin: SecretStdin = False,
    url: Url = None,
    data_dir: DataDir = None,
) -> None:
    """Probe a runner and put it on the chart. Its secret may also be in $PORTOLAN_RUNNER_SECRET."""
    secret = read_secret(secret_file, secret_stdin)
    with connect(url, data_dir) as client:
        runner = client.register(address, secret)
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
