"""``portolan up`` runs the local instance in the foreground, until Ctrl-C."""

from __future__ import annotations

import os
import shlex
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from coordinator.cli.anonymous import Anonymous, WithoutAccessControl, role_of_nobody
from coordinator.cli.directory import DataDirectory
from coordinator.cli.local import (
    LOOK_EVERY_S,
    LocalInstance,
    local_instance,
    parse_targets,
    require_known,
    slots_here,
    stoppable,
)
from coordinator.cli.server import Port, RunnersHost, RunnersPort, port_or_default, runners_place
from coordinator.cli.shared_options import AllowedHost, DataDir
from coordinator.cli.target_names import KNOWN_TARGETS
from coordinator.configuration.settings import enrolment_key_file as checked_key_file


def up(
    data_dir: DataDir = None,
    database: Annotated[
        str | None, typer.Option(help="DSN of your own PostgreSQL, to use instead of the embedded one.")
    ] = None,
    host: Annotated[str, typer.Option(help="Address on which the coordinator listens.")] = "127.0.0.1",
    port: Port = None,
    targets: Annotated[
        list[str] | None,
        typer.Option(
            help=f"Runners to start; default: '{' '.join(KNOWN_TARGETS)}'. With an empty text no runner starts."
        ),
    ] = None,
    enrolment_key_file: Annotated[
        Path | None,
        typer.Option(help="File with the key of enrollment tokens; without it no runner can enroll."),
    ] = None,
    runners_host: RunnersHost = None,
    runners_port: RunnersPort = None,
    allowed_host: AllowedHost = None,
    anonymous: Anonymous = None,
    without_access_control: WithoutAccessControl = False,
) -> None:
    """Start the database, the coordinator and the runners of this machine; Ctrl-C stops all."""
    selected_targets = KNOWN_TARGETS if targets is None else parse_targets(targets)
    key_file = checked_key_file(enrolment_key_file)
    for_runners = runners_place(host, runners_host, runners_port)
    role = role_of_nobody(host, anonymous, without_access_control=without_access_control)
    require_known(selected_targets)
    directory = DataDirectory(data_dir)
    try:
        with (
            stoppable(),
            local_instance(
                directory,
                database=database,
                host=host,
                port=port_or_default(port),
                say=_say,
                enrolment_key_file=key_file,
                for_runners=for_runners,
                hosts=allowed_host or (),
                anonymous=role,
                slots=slots_here(len(selected_targets)),
            ) as instance,
        ):
            _say(f"portolan {version('portolan')} at {instance.url} (docs: {instance.url}/docs)")
            instance.say_login_link()
            _say(f"data in {directory.path}")
            instance.serve(selected_targets)
            has_introduced = False
            while True:
                instance.tend()
                if instance.settled and not has_introduced:
                    has_introduced = True
                    _say(_what_next(instance, data_dir))
                time.sleep(LOOK_EVERY_S)
    except KeyboardInterrupt:
        _say(f"stopped; the data stay in {directory.path}")


def _what_next(instance: LocalInstance, data_dir: Path | None) -> str:
    place = f" --data-dir {shlex.quote(str(data_dir))}" if data_dir else ""
    lines = []
    if not instance.serving:
        lines.append("no runner runs here: `portolan-runner setup torch` prepares one, then start again; or")
        lines.append(f"  portolan runner register URL{place}   registers a runner from elsewhere")
    lines += [
        f"  portolan submit --wait{place}   charts every function on every target",
        f'  psql "$(portolan db url{place})"   opens the outcomes in psql',
        "Ctrl-C stops everything and keeps the data",
    ]
    return "\n".join(lines)


def _say(line: str) -> None:
    """Print a line. If nothing reads stdout any more, as when ``up
    tee`` is interrupted, the instance continues.
    """
    try:
        print(line, flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
