"""``portolan fleet``: the containers of runners on this host, started, looked at, kept alive and ended."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coordinator.cli.client import Client
from coordinator.cli.directory import DataDirectory
from coordinator.cli.local import stoppable
from coordinator.cli.options import AsJson, DataDir, Url, connect, split
from coordinator.cli.progress import Board
from coordinator.cli.tables import plural, print_columns
from coordinator.errors import CoordinatorError, PortolanError
from coordinator.fleet import containers
from coordinator.fleet.containers import FleetError, Limits, Observed, Target, Wanted, current

if TYPE_CHECKING:
    # The SDK is loaded by the commands of this file alone: it takes its time, and the coordinator's memory.
    from coordinator.cli.caretaker import Caretaker, Unserved
    from coordinator.fleet.docker import Engine

FIRST_PORT = 8801
HEALTHY_WITHIN_S = 300.0
WATCH_EVERY_S = 5.0
DEFAULT_CPUS = 2.0

app = typer.Typer(no_args_is_help=True, help="Containers of runners on this host.")

Name = Annotated[str, typer.Option("--name", help="Which fleet of this host.")]
Targets = Annotated[list[str] | None, typer.Argument(metavar="[TARGET]...", show_default=False)]
FirstPort = Annotated[
    int, typer.Option(min=1, max=65535, help="Runners listen on 127.0.0.1, at free ports from here on.")
]


@app.command("up")
def up(
    targets: Annotated[
        list[str] | None,
        typer.Option(help="Which, such as torch/cpu or torch@2.9.0/cpu; else all that images and devices allow."),
    ] = None,
    image: Annotated[
        list[str] | None, typer.Option(metavar="TARGET=IMAGE", help="The image for a target; else the newest.")
    ] = None,
    memory: Annotated[str, typer.Option(help="What one container may hold.")] = "6G",
    cpus: Annotated[float | None, typer.Option(min=0.01, help="How many CPUs it may use; 2.")] = None,
    pids: Annotated[int, typer.Option(min=1, help="How many processes and threads it may have.")] = 2048,
    scratch: Annotated[str, typer.Option(help="Size of its /tmp, in memory: all that it can write to.")] = "1G",
    first_port: FirstPort = FIRST_PORT,
    healthy_within: Annotated[
        float, typer.Option(min=1, help="Seconds after which a container that is not healthy is given up.")
    ] = HEALTHY_WITHIN_S,
    watch: Annotated[bool, typer.Option("--watch", help="Go on as `portolan fleet watch`.")] = False,
    name: Name = "main",
    url: Url = None,
    data_dir: DataDir = None,
) -> None:
    """Start a container for each target, wait until it is healthy, put it on the chart."""
    with _engine(name) as engine, connect(url, data_dir) as client:
        from coordinator.fleet.docker import parse_size

        limits = Limits(
            memory=parse_size(memory),
            cpus=cpus if cpus is not None else min(DEFAULT_CPUS, engine.cpus),
            pids=pids,
            scratch=parse_size(scratch),
        )
        wanted = _wanted(engine, split(targets), _pinned(image), limits)
        client.runners()  # a coordinator that does not answer is told before anything is started
        with stoppable(), Board() as board:
            caretaker = _caretaker(engine, client, DataDirectory(data_dir), first_port, board.say)
            wanted = {target: caretaker.wanted(each) for target, each in wanted.items()}
            unserved = caretaker.bring_up(wanted, healthy_within, board.show)
            _tell(unserved, board)
        print(f"{plural(len(caretaker.runners), 'runner')} on the chart of {client.url}", flush=True)
        if watch:
            _watch(caretaker)
    if unserved:
        raise _incomplete(unserved, len(wanted))


@app.command("status")
def status(name: Name = "main", url: Url = None, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """List the containers with their health, restarts, memory and runners."""
    with _engine(name) as engine, connect(url, data_dir) as client:
        observed = engine.observe()
        try:
            runners = {each.url: each for each in client.runners() if each.state != "removed"}
            away = None
        except CoordinatorError as error:
            runners, away = {}, str(error)
        standing = {each.id for each in current(observed).values()}
        rows = [_row(engine, each, runners, superseded=each.id not in standing) for each in observed]
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


@app.command("restart")
def restart(
    targets: Targets = None,
    healthy_within: Annotated[float, typer.Option(min=1, help="Seconds for it to be healthy again.")] = (
        HEALTHY_WITHIN_S
    ),
    first_port: FirstPort = FIRST_PORT,
    name: Name = "main",
    url: Url = None,
    data_dir: DataDir = None,
) -> None:
    """Restart the containers of these targets, or all; wait until they are healthy again."""
    with _engine(name) as engine, connect(url, data_dir) as client:
        from coordinator.fleet.engine_errors import GoneError, UnkillableError

        chosen = _named(engine, name, targets)
        client.runners()
        with stoppable(), Board() as board:
            caretaker = _caretaker(engine, client, DataDirectory(data_dir), first_port, board.say)
            for each in chosen:
                board.show([f"{each.target}: restarting"])
                try:
                    engine.restart(each)
                except GoneError:
                    continue
                except UnkillableError as error:
                    caretaker.mark_unkillable(each, error)
            wanted = {each.target: each.wanted for each in chosen if each.wanted is not None}
            unserved = caretaker.bring_up(wanted, healthy_within, board.show)
            _tell(unserved, board)
    if unserved:
        raise _incomplete(unserved, len(wanted))


@app.command("down")
def down(
    targets: Targets = None,
    volumes: Annotated[bool, typer.Option("--volumes", help="Remove the fleet's volume too.")] = False,
    name: Name = "main",
    url: Url = None,
    data_dir: DataDir = None,
) -> None:
    """Take the runners off the chart, stop and remove their containers; outcomes stay."""
    with _engine(name) as engine, connect(url, data_dir) as client:
        if targets and volumes:
            raise FleetError("--volumes goes with the whole fleet: leave the targets out")
        chosen = {each.target for each in _named(engine, name, targets)} if targets else None
        leaving = [each for each in engine.observe() if chosen is None or each.target in chosen]
        caretaker = _caretaker(engine, client, DataDirectory(data_dir), FIRST_PORT, _say)
        left, away = caretaker.take_down(leaving)
        if chosen is None and not left:
            engine.remove_network()
            if volumes:
                engine.remove_volumes()
        if not leaving:
            print(f"fleet '{name}' has no container")
    if left:
        raise FleetError(
            f"{plural(len(left), 'container')} could not be ended: {', '.join(each.name for each in left)}; "
            "restart the Docker Engine or the host, then call `portolan fleet down` again"
        )
    if leaving and away is not None:
        raise FleetError(f"{away}; its chart still has them, until `portolan runner remove` takes them off")


@app.command("logs")
def logs(
    target: Annotated[str, typer.Argument(metavar="TARGET", help="As `portolan fleet status` shows it.")],
    follow: Annotated[bool, typer.Option("--follow", help="Go on until Ctrl-C.")] = False,
    name: Name = "main",
) -> None:
    """Print what the runner of a target has logged."""
    with _engine(name) as engine:
        (container,) = _named(engine, name, [target])
        for piece in engine.log(container, follow=follow):
            sys.stdout.buffer.write(piece)
            sys.stdout.buffer.flush()


@app.command("watch")
def watch_(first_port: FirstPort = FIRST_PORT, name: Name = "main", url: Url = None, data_dir: DataDir = None) -> None:
    """Restart what is unhealthy, replace what cannot be ended, keep it on the chart; until Ctrl-C."""
    with _engine(name) as engine, connect(url, data_dir) as client:
        if not engine.observe():
            raise FleetError(f"fleet '{name}' has no container: `portolan fleet up` starts some")
        _watch(_caretaker(engine, client, DataDirectory(data_dir), first_port, _say))


def _watch(caretaker: Caretaker) -> None:
    try:
        with stoppable():
            _say("watching; Ctrl-C ends the watching, not the containers")
            caretaker.watch(WATCH_EVERY_S)
    except KeyboardInterrupt:
        _say("no longer watching; the containers go on")


@contextmanager
def _engine(name: str) -> Iterator[Engine]:
    try:
        from coordinator.fleet.docker import Engine
    except ModuleNotFoundError as error:
        raise FleetError(f"{error.name} is not installed here: call this on the host, not in a container") from error
    with Engine(containers.check_fleet_name(name)) as engine:
        yield engine


def _caretaker(engine: Engine, client: Client, directory: DataDirectory, first_port: int, say: Any) -> Caretaker:
    from coordinator.cli.caretaker import Caretaker

    return Caretaker(engine, client, directory, first_port, say)


def _pinned(given: Sequence[str] | None) -> dict[str, str]:
    """``TARGET=IMAGE`` → image by target."""
    pinned = {}
    for each in given or ():
        target, separator, image = each.partition("=")
        if not separator or not image:
            raise FleetError(f"--image '{each}': write TARGET=IMAGE, such as torch/cpu=portolan/torch-cpu:latest")
        pinned[str(Target.parse(target))] = image
    return pinned


def _wanted(engine: Engine, named: Sequence[str], pinned: dict[str, str], limits: Limits) -> dict[str, Wanted]:
    """What is to run, by target; raises ``FleetError`` before anything is started if it cannot be."""
    inventory = engine.inventory()
    names = list(dict.fromkeys([str(Target.parse(each)) for each in named] + list(pinned)))
    if names:
        images = engine.images()
        pairs = []
        for each in names:
            target = Target.parse(each)
            image = engine.image(pinned[each]) if each in pinned else containers.newest(images, target)
            if not image.serves(target):
                raise FleetError(
                    f"image '{image.name}' does not serve {target}: it is of "
                    f"{image.framework}@{image.version} for {' and '.join(image.devices)}"
                )
            pairs.append((target, image))
    else:
        pairs = containers.chosen(engine.images(), inventory)
    if not pairs:
        raise FleetError("no image here serves what this host has: build some with `make images`, or name --targets")
    return {str(target): containers.wanted_of(target, image, inventory, limits) for target, image in pairs}


def _named(engine: Engine, name: str, targets: Sequence[str] | None) -> list[Observed]:
    """The containers that stand for these targets, or all that do."""
    observed = current(engine.observe())
    if targets:
        return [containers.known_target(each, observed, name) for each in dict.fromkeys(split(targets))]
    if not observed:
        raise FleetError(f"fleet '{name}' has no container: `portolan fleet up` starts some")
    return list(observed.values())


def _row(engine: Engine, each: Observed, runners: dict[str, Any], *, superseded: bool) -> dict[str, Any]:
    runner = runners.get(each.url)
    restarts = engine.restarts(each)
    return {
        "target": each.target,
        "container": each.name,
        "image": each.wanted.image_name if each.wanted else None,
        "image_digest": each.wanted.image_digest if each.wanted else None,
        "state": each.state,
        "superseded": superseded,
        "health": each.health,
        "restarts": restarts,
        # A container that hangs keeps whoever asks waiting: once is enough.
        "memory_bytes": engine.memory(each) if restarts is not None else None,
        "url": each.url,
        "runner": runner.id if runner else None,
        "runner_state": runner.state if runner else None,
    }


def _columns(row: dict[str, Any]) -> tuple[str, ...]:
    memory = row["memory_bytes"]
    return (
        row["target"],
        row["image"] or "unknown",
        f"{row['state']}, superseded" if row["superseded"] else str(row["state"]),
        str(row["health"]),
        "unknown" if row["restarts"] is None else str(row["restarts"]),
        "-" if memory is None else f"{memory / 2**20:,.0f} MiB",
        row["url"],
        "-" if row["runner"] is None else f"{row['runner']} {row['runner_state']}",
    )


def _tell(unserved: Sequence[Unserved], board: Board) -> None:
    for each in unserved:
        board.say(f"{each.target}: {each.reason}")
        for line in each.log:
            board.say(f"    {line}")


def _incomplete(unserved: Sequence[Unserved], of: int) -> PortolanError:
    which = ", ".join(each.target for each in unserved)
    return FleetError(f"{len(unserved)} of {plural(of, 'target')} did not come up: {which}")


def _say(line: str) -> None:
    print(line, flush=True)
