"""Options that several commands share, and functions that turn them into values."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, Concatenate

import typer

from coordinator.cli.credentials import find_token
from coordinator.cli.directory import DataDirectory, find_url
from coordinator.cli.rest_client import Client
from coordinator.configuration.variables import variables
from coordinator.errors import CoordinatorError
from coordinator.figures.counting import NAMES, rule_named

Url = Annotated[
    str | None,
    typer.Option(
        "--url", help="The coordinator's address; default: $PORTOLAN_URL if set, otherwise the local instance's."
    ),
]
DataDir = Annotated[
    Path | None,
    typer.Option(
        "--data-dir",
        help="Data directory of the local instance; default: $PORTOLAN_DATA if set, otherwise the standard folder.",
    ),
]
AllowedHost = Annotated[
    list[str] | None,
    typer.Option(
        help="A host name under which browsers and runners use the coordinator, such as a proxy's; not needed for IP "
        "addresses and this machine's name. Repeatable; $PORTOLAN_HOSTS adds more."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
SignatureOptional = Annotated[bool, typer.Option("--unsigned", help="Also accept files without a signature.")]
SecretFile = Annotated[Path | None, typer.Option(help="A file with the runner's secret.")]
SecretStdin = Annotated[bool, typer.Option("--secret-stdin", help="Read the secret from stdin.")]
CampaignId = Annotated[
    int, typer.Argument(metavar="CAMPAIGN", min=1, help="Number of the campaign, as `portolan status` shows it.")
]

Rule = Annotated[
    str,
    typer.Option(
        metavar="RULE",
        callback=lambda name: rule_named(name).name,
        autocompletion=lambda: [*NAMES],
        help=f"Count by this rule: {', '.join(NAMES)}.",
    ),
]


def connect(url: Url = None, data_dir: DataDir = None) -> Client:
    """Return a client for the coordinator of ``url`` or ``data_dir``; without both, of ``PORTOLAN_URL`` or the local
    instance.

    The client sends the token that ``find_token`` returns. Raises ``CoordinatorError`` if no instance runs on
    ``data_dir``.
    """
    directory = DataDirectory(data_dir)
    address = find_url(url, directory)
    return Client(address, find_token(address, directory))


def with_client(command: Callable[Concatenate[Client, ...], None]) -> Callable[..., None]:
    """Add ``--url`` and ``--data-dir`` to a command. The command gets a client made from these options as its first
    argument.
    """

    @with_options_of(connect)
    @wraps(command)
    def run_connected(client: Client, *arguments: Any, **options: Any) -> None:
        with client:
            command(client, *arguments, **options)

    return run_connected


def with_options_of(make: Callable[..., Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add the options of ``make`` to a command. The value that ``make`` returns is the command's first argument."""
    shared_options = inspect.signature(make, eval_str=True).parameters

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(command, eval_str=True)
        _, *own = signature.parameters.values()

        @wraps(command)
        def run(*arguments: Any, **options: Any) -> None:
            value = make(**{name: options.pop(name) for name in shared_options})
            command(value, *arguments, **options)

        # Typer reads a command's options from here.
        run.__signature__ = signature.replace(parameters=[*own, *shared_options.values()])  # type: ignore[attr-defined]
        return run

    return decorate


def present(**values: Any) -> dict[str, Any]:
    """The values that are not None."""
    return {name: value for name, value in values.items() if value is not None}


def split(values: Iterable[str] | None) -> list[str]:
    """The entries of a repeatable option. Each value may have several entries, separated by spaces or commas."""
    return [part for value in values or () for part in re.split(r"[\s,]+", value) if part]


def read_secret(file: Path | None, from_stdin: bool) -> str:
    """The runner's secret from the file, from stdin or from the environment; empty if there is none."""
    if from_stdin and file is not None:
        raise CoordinatorError("--secret-file and --secret-stdin cannot be combined: give one of them")
    if from_stdin:
        return sys.stdin.read().strip()
    if file is not None:
        try:
            return file.read_text().strip()
        except UnicodeDecodeError as error:
            raise CoordinatorError(f"--secret-file {file} is empty: give the file that holds the secret") from error
    return variables().runner_secret.strip()
