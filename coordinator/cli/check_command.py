"""``portolan runner check``: checks whether a runner, in any language, implements the runner API."""

from __future__ import annotations

import asyncio
import sys
from typing import Annotated

import typer

from coordinator import conformance
from coordinator.cli.shared_options import AsJson, SecretFile, SecretStdin, read_secret
from coordinator.configuration.variables import variables
from coordinator.conformance.findings import ClauseFinding
from coordinator.conformance.subject import Restart
from coordinator.conformance.times import CheckTimes
from coordinator.errors import CoordinatorError, NotRunError


def check(
    address: Annotated[str, typer.Argument(metavar="URL", help="Address of the runner.")],
    secret_file: SecretFile = None,
    secret_stdin: SecretStdin = False,
    probe: Annotated[bool, typer.Option("--probe", help="Run only the checks that need no long wait.")] = False,
    restart_command: Annotated[
        str | None,
        typer.Option(
            help="Shell command that restarts the runner and returns when the old process is gone. Without it the "
            "restart check is not run."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check that a runner implements the runner API. Do not check a registered runner: the check would discard events
    that the coordinator has not read."""
    if probe and restart_command is not None:
        raise CoordinatorError("--probe skips the restart check: give --restart-command without --probe")
    times = CheckTimes.parse(variables().check_times)
    report = asyncio.run(
        conformance.check(
            address,
            read_secret(secret_file, secret_stdin),
            level=conformance.Level.probe if probe else conformance.Level.full,
            restart=None if restart_command is None else restarting(restart_command, times.restart_s),
            times=times,
            on_finding=_ignore if as_json else _print,
        )
    )
    print(report.model_dump_json(indent=2) if as_json else report.summary)
    if not report.conforms:
        raise typer.Exit(1)


def restarting(command: str, within_s: float) -> Restart:
    """Make a function that restarts the runner with a shell command. The command's output goes to stderr."""

    async def restart() -> None:
        process = await asyncio.create_subprocess_shell(
            command, stdin=asyncio.subprocess.DEVNULL, stdout=sys.stderr.fileno()
        )
        try:
            async with asyncio.timeout(within_s):
                code = await process.wait()
        except TimeoutError:
            process.kill()
            raise NotRunError(
                f"--restart-command did not end within {within_s:g} s: give a command that returns after the restart"
            ) from None
        if code != 0:
            raise NotRunError(f"--restart-command ended with exit code {code}: give a command that restarts the runner")

    return restart


def _print(finding: ClauseFinding) -> None:
    for line in finding.lines():
        print(line, flush=True)


def _ignore(finding: ClauseFinding) -> None:
    """Do nothing with a single finding, because JSON is printed as a whole at the end."""
