"""``portolan runner``: lists, registers and removes runners. ``check_command.py`` checks them."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from coordinator.assess.recordings import read_recording
from coordinator.cli.check_command import check
from coordinator.cli.output import print_columns, print_json
from coordinator.cli.rest_client import Client
from coordinator.cli.shared_options import AsJson, SecretFile, SecretStdin, read_secret, with_client
from coordinator.configuration.settings import enrolment_key
from coordinator.configuration.settings import enrolment_key_file as checked_key_file
from coordinator.errors import CoordinatorError, SettingError
from protocol.enrolment_tokens import EnrolmentToken

if TYPE_CHECKING:
    from coordinator.registry.models import Runner

SERVED_WITHIN_S = 180.0
"""The time limit for a new suite to appear: the framework is imported again, and the coordinator must notice the new
boot."""
LOOK_EVERY_S = 0.5

app = typer.Typer(no_args_is_help=True, help="The runners that the coordinator knows.")
app.command("check")(check)


@app.command("list")
@with_client
def list_runners(client: Client, as_json: AsJson = False) -> None:
    """List the runners with their targets and states."""
    runners = client.runners()
    if as_json:
        print_json(runners)
        return
    print_columns(
        ("id", "name", "target", "state", "hardware", "environment", "url", "in flight", "reason"),
        [
            (
                *(str(runner.id), runner.name or "", runner.target, runner.state, runner.hardware),
                *(environment_of(runner), runner.url, str(runner.in_flight), runner.reason or ""),
            )
            for runner in runners
        ],
        empty="no runner is registered: start some with `portolan up`, or add one with `portolan runner register URL`",
    )


def environment_of(runner: Runner) -> str:
    """The hash of the runner's packages, and the declared libraries that are missing."""
    libraries: dict[str, str] = runner.fingerprint.get("libraries", {})
    lacking = [f"{name} {version}" for name, version in libraries.items() if version.startswith("not installed")]
    return "; ".join([runner.environment, *lacking])


@app.command("register")
@with_client
def register(
    client: Client,
    address: Annotated[str, typer.Argument(metavar="URL", help="Address at which the coordinator reaches the runner.")],
    secret_file: SecretFile = None,
    secret_stdin: SecretStdin = False,
) -> None:
    """Probe a runner and register it. Its secret may also be in $PORTOLAN_RUNNER_SECRET."""
    secret = read_secret(secret_file, secret_stdin)
    runner = client.register(address, secret)
    print(f"runner {runner.id}: {runner.target} on {runner.hardware}")


@app.command("send")
@with_client
def send(
    client: Client,
    runner_id: Annotated[
        int, typer.Argument(metavar="ID", min=1, help="Number of the runner, as `portolan runner list` shows it.")
    ],
    recording: Annotated[
        Path,
        typer.Argument(
            metavar="RECORDING", exists=True, dir_okay=False, help="A recording that `portolan-runner record` wrote."
        ),
    ],
) -> None:
    """Send a recording to a runner that accepts recordings, and wait until the runner serves it as a suite."""
    suite = client.send_recording(runner_id, read_recording(recording.read_bytes(), str(recording)))
    until = time.monotonic() + SERVED_WITHIN_S
    while (runner := client.runner(runner_id)).state != "online" or suite not in runner.suites:
        if time.monotonic() > until:
            raise CoordinatorError(
                f"runner {runner_id} took the recording, but does not serve {suite} after {SERVED_WITHIN_S:g} s: "
                "read the reason in the runner's log"
            )
        time.sleep(LOOK_EVERY_S)
    target = f"{runner.framework}/{runner.device}"
    print(f"runner {runner_id} serves it; chart it with: portolan submit --suite {suite} --targets {target}")


@app.command("token")
def token(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="The runner's --name; a + in the name stands for any number.")
    ],
    target: Annotated[
        str, typer.Argument(metavar="FRAMEWORK/DEVICE", help="The only target that the runner may serve.")
    ],
    enrolment_key_file: Annotated[
        Path | None,
        typer.Option(help="File of the coordinator's enrolment key; default: $PORTOLAN_ENROLMENT_KEY_FILE."),
    ] = None,
) -> None:
    """Print the token with which one runner may enroll. The coordinator is not contacted and does not store the
    token."""
    file = checked_key_file(enrolment_key_file)
    if file is None:
        raise SettingError("no enrolment key: give --enrolment-key-file FILE, or set PORTOLAN_ENROLMENT_KEY_FILE")
    try:
        enrolment_token = EnrolmentToken.make(enrolment_key(file), name, target)
    except ValueError as error:
        raise SettingError(
            f"no token can be made for '{name}' and '{target}': give a NAME of letters, digits, '_', '.' and '-', "
            "and a target FRAMEWORK/DEVICE"
        ) from error
    print(enrolment_token)


@app.command("remove")
@with_client
def remove(
    client: Client,
    runner_id: Annotated[
        int, typer.Argument(metavar="ID", min=1, help="Number of the runner, as `portolan runner list` shows it.")
    ],
) -> None:
    """Remove a runner. Its jobs go back to the queue, and its outcomes stay."""
    client.remove(runner_id)
    print(f"runner {runner_id} removed")
