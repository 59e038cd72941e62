"""``portolan fleet``: starts, lists and removes the containers of runners on this host."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from coordinator.access.roles import Role
from coordinator.cli.directory import DataDirectory
from coordinator.cli.local import stoppable
from coordinator.cli.output import print_columns
from coordinator.cli.progress import Board
from coordinator.cli.rest_client import Client
from coordinator.cli.rollout import Rollout, fleet_folder
from coordinator.cli.shared_options import AsJson, DataDir, Url, connect, split
from coordinator.errors import CoordinatorError, FleetError
from coordinator.figures.formats import plural
from coordinator.fleet.images import FleetTarget, parse_pins, specify_runners
from coordinator.fleet.scheduler import Capability, Container, Limits, Scheduler, parse_size, require
from coordinator.registry.models import Runner

FIRST_PORT = 8801
HEALTHY_WITHIN_S = 300.0
DEFAULT_CPUS = 2.0

app = typer.Typer(no_args_is_help=True, help="Containers of runners on this host.")

Name = Annotated[str, typer.Option("--name", help="Name of the fleet on this host.")]


@app.command("up")
def up(
    targets: Annotated[
        list[str] | None,
        typer.Option(
            help="Targets, such as 'torch/cpu torch@2.9.0/cpu'; default: all targets that have an "
            "image and a device on this host."
        ),
    ] = None,
    image: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TARGET=IMAGE", help="The image of a target; default: the newest image with the target's label."
        ),
    ] = None,
    memory: Annotated[str, typer.Option(help="Memory limit of a container.")] = "6G",
    cpus: Annotated[float | None, typer.Option(min=0.01, help="Limit of CPUs of a container; default: 2.")] = None,
    pids: Annotated[int, typer.Option(min=1, help="Limit of processes and threads of a container.")] = 2048,
    scratch: Annotated[
        str,
        typer.Option(
            help="Size of a container's /tmp, which is in memory and the only place where the container can write."
        ),
    ] = "1G",
    first_port: Annotated[
        int, typer.Option(min=1, max=65535, help="First port of the runners, on 127.0.0.1.")
    ] = FIRST_PORT,
    healthy_within: Annotated[
        float, typer.Option(min=1, help="Seconds to wait for a container to become healthy.")
    ] = HEALTHY_WITHIN_S,
    name: Name = "main",
    url: Url = None,
    data_dir: DataDir = None,
) -> None:
    """Start a container for each target, wait until it is healthy, and register its runner."""
    with _open_scheduler(name, first_port) as scheduler, connect(url, data_dir) as client:
        limits = Limits(
            memory=parse_size(memory),
            cpus=cpus if cpus is not None else min(DEFAULT_CPUS, scheduler.cpus),
            pids=pids,
            scratch=parse_size(scratch),
        )
        pins, inventory = parse_pins(image or ()), scheduler.inventory()
        specs = specify_runners(split(targets), pins, scheduler.images(), scheduler.image, inventory, limits)
        _require_operator(client)  # a coordinator that does not answer is reported before anything is started
        with stoppable(), Board() as board, fleet_folder(DataDirectory(data_dir), name, board.say) as folder:
            failed_targets = Rollout(scheduler, client, folder, board).bring_up(specs, healthy_within)
        print(f"{plural(len(specs) - len(failed_targets), 'runner')} registered at {client.url}", flush=True)
    if failed_targets:
        raise FleetError(
            f"{len(failed_targets)} of {plural(len(specs), 'target')} did not start ({', '.join(failed_targets)}): "
            "correct the reasons above, and run the command again"
        )


@app.command("status")
def status(name: Name = "main", url: Url = None, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """List the containers with their health, restarts, memory and runners."""
    with _open_scheduler(name) as scheduler, connect(url, data_dir) as client:
        containers = scheduler.list(usage=True)
        try:
            runners = {runner.url: runner for runner in client.runners() if runner.state != "removed"}
            away = None
        except CoordinatorError as error:
            runners, away = {}, str(error)
    rows = [_row(container, runners.get(container.url)) for container in containers]
    if as_json:
        print(json.dumps(rows, indent=2))
    else:
        print_columns(
            ("target", "image", "state", "health", "restarts", "memory", "url", "runner"),
            [_columns(row) for row in rows],
            empty=f"fleet '{name}' has no container: `portolan fleet up` starts some",
        )
    if away is not None:
        print(f"portolan: {away}", file=sys.stderr)


@app.command("down")
def down(
    targets: Annotated[list[str] | None, typer.Argument(metavar="[TARGET]...", show_default=False)] = None,
    volumes: Annotated[bool, typer.Option("--volumes", help="Also remove the fleet's volume.")] = False,
    name: Name = "main",
    url: Url = None,
    data_dir: DataDir = None,
) -> None:
    """Remove the runners and their containers. Outcomes stay."""
    with _open_scheduler(name) as scheduler, connect(url, data_dir) as client:
        if targets and volumes:
            raise FleetError("--volumes removes the volume of the whole fleet: do not name targets with it")
        if volumes:
            require(scheduler, Capability.remove_volume, "--volumes")
        with Board() as board, fleet_folder(DataDirectory(data_dir), name, board.say) as folder:
            leaving = _select_containers(scheduler, targets) if targets else scheduler.list()
            stuck_containers, away = Rollout(scheduler, client, folder, board).take_down(leaving)
            if not targets and not stuck_containers:
                scheduler.dissolve(volume=volumes)
        if not leaving:
            print(f"fleet '{name}' has no container")
    if stuck_containers:
        raise FleetError(
            f"{plural(len(stuck_containers), 'container')} could not be stopped: {', '.join(stuck_containers)}; "
            "restart the Docker Engine or the host, then call `portolan fleet down` again"
        )
    if leaving and away is not None:
        raise FleetError(f"{away}; the coordinator still lists the runners: remove them with `portolan runner remove`")


@app.command("logs")
def logs(
    target: Annotated[
        str, typer.Argument(metavar="TARGET", help="Target of the runner, as `portolan fleet status` shows it.")
    ],
    follow: Annotated[bool, typer.Option("--follow", help="Continue until Ctrl-C.")] = False,
    name: Name = "main",
) -> None:
    """Print the log of a target's runner."""
    with _open_scheduler(name) as scheduler:
        if follow:
            require(scheduler, Capability.follow_logs, "--follow")
        (container,) = _select_containers(scheduler, [target])
        for piece in scheduler.logs(container, follow=follow):
            sys.stdout.buffer.write(piece)
            sys.stdout.buffer.flush()


@contextmanager
def _open_scheduler(name: str, first_port: int = FIRST_PORT) -> Iterator[Scheduler]:
    try:
        # Imported by the commands that need it, because the SDK takes time and memory.
        from coordinator.fleet.docker import DockerEngine
    except ModuleNotFoundError as error:
        raise FleetError(
            f"{error.name} is not installed here: run this command on the host, not in a container"
        ) from error
    with DockerEngine(name, first_port) as scheduler:
        yield scheduler


def _require_operator(client: Client) -> None:
    caller = client.whoami()
    if caller.role is None or not caller.role.includes(Role.operator):
        raise FleetError(
            f"{caller.name} may not register runners at {client.url}, because this requires the role operator: "
            "run this command as the user who started `portolan up`, or give another token with `portolan login`"
        )


def _select_containers(scheduler: Scheduler, targets: Sequence[str]) -> list[Container]:
    """Return the containers of these targets. Raises ``FleetError`` if a target has no container."""
    containers = {container.target: container for container in scheduler.list()}
    names = dict.fromkeys(str(FleetTarget.parse(text)) for text in split(targets))
    for target in names.keys() - containers.keys():
        there = f"choose one of {', '.join(containers)}" if containers else "`portolan fleet up` starts containers"
        raise FleetError(f"fleet '{scheduler.fleet}' has no container of {target}; {there}")
    return [containers[target] for target in names]


def _row(container: Container, runner: Runner | None) -> dict[str, Any]:
    image = container.spec.image if container.spec else None
    return {
        "target": container.target,
        "container": container.name,
        "image": image.name if image else None,
        "image_digest": image.digest if image else None,
        "state": container.state,
        "health": container.health,
        "restarts": container.restarts,
        "memory_bytes": container.memory_bytes,
        "url": container.url,
        "runner": runner.id if runner else None,
        "runner_state": runner.state if runner else None,
    }


def _columns(row: dict[str, Any]) -> tuple[str, ...]:
    memory = "-" if row["memory_bytes"] is None else f"{row['memory_bytes'] / 2**20:,.0f} MiB"
    restarts = "unknown" if row["restarts"] is None else str(row["restarts"])
    runner = "-" if row["runner"] is None else f"{row['runner']} {row['runner_state']}"
    return row["target"], row["image"] or "unknown", row["state"], row["health"], restarts, memory, row["url"], runner
