"""The caretaker of a fleet: looks at its containers, carries out what ``tending`` decides, says what it does.

What it needs is the engine, the coordinator and the folder with the runners' secrets; what it
knows beyond the containers' labels is lost with it, and found anew by the next one.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import httpx

from coordinator.cli.client import Client, CoordinatorAwayError
from coordinator.cli.directory import DataDirectory
from coordinator.errors import PortolanError
from coordinator.fleet import tending
from coordinator.fleet.containers import (
    FleetError,
    Health,
    Observed,
    State,
    Wanted,
    current,
    fingerprint_of,
    url_of,
)
from coordinator.fleet.docker import Engine
from coordinator.fleet.engine_errors import (
    EngineAwayError,
    EngineError,
    GoneError,
    NameTakenError,
    PortTakenError,
    UnkillableError,
)
from coordinator.fleet.tending import Action, Create, Memory, Register, Remove, Restart, Start
from coordinator.registry.models import Runner

PORTS = 100
"""How many are tried, from the first one on."""
LOOK_EVERY_S = 0.5
LOG_LINES = 8
RESTARTS_OF_THE_HOPELESS = 3
"""A container that the engine has started this often, and that has ended each time, will not get healthy."""
PROBE_S = 2.0

Say = Callable[[str], None]


@dataclass(frozen=True)
class Unserved:
    """A target that did not come up, and why."""

    target: str
    reason: str
    log: tuple[str, ...] = ()


class Caretaker:
    def __init__(self, engine: Engine, client: Client, directory: DataDirectory, first_port: int, say: Say) -> None:
        self._engine = engine
        self._client = client
        self._folder = directory.path / "fleet" / engine.fleet
        self._first_port = first_port
        self._say = say
        self._memory: dict[str, Memory] = {}
        self._problems: dict[str, PortolanError] = {}
        """The latest of each target."""
        self._made: set[str] = set()
        """Ids of the containers of this caretaker's own making."""
        self._taken: set[int] = set()
        """Ports on which something else turned out to listen."""
        self.runners: dict[str, Runner] = {}
        """Registered by this caretaker, by target."""

    def wanted(self, each: Wanted) -> Wanted:
        """With the secret that the container gets, so that one with a lost secret is replaced."""
        return replace(each, secret=fingerprint_of(self._secret(each.target)[1]))

    def bring_up(
        self, wanted: Mapping[str, Wanted], within_s: float, show: Callable[[Sequence[str]], None]
    ) -> list[Unserved]:
        """Until each target is healthy and on the chart, or will not be; who came up is in ``runners``."""
        begun = time.monotonic()
        waiting, unserved, replaced = dict(wanted), [], set[str]()
        while waiting:
            observed = self._look(waiting)
            actions = self._decided(observed, waiting, frozenset(each.url for each in self.runners.values()))
            for action in actions:
                if isinstance(action, Remove) and not self._may_go(action.container, observed, replaced):
                    continue
                self._carry_out(action, observed, waiting)
                if isinstance(action, Register):
                    self._give_up_unregistered(action.container)
            observed = self._look(waiting)
            elapsed = time.monotonic() - begun
            busy = {tending.target_of(action) for action in actions}
            for target in list(waiting):
                if target in self.runners and target not in busy:
                    del waiting[target]
                elif (failure := self._hopeless(target, current(observed).get(target), elapsed, within_s)) is not None:
                    unserved.append(failure)
                    del waiting[target]
            show([f"{target}: {_doing(current(observed).get(target))}, {elapsed:.0f} s" for target in waiting])
            if waiting:
                time.sleep(LOOK_EVERY_S)
        return unserved

    def _may_go(self, container: Observed, observed: Sequence[Observed], replaced: set[str]) -> bool:
        """A container in use is replaced once a call: two calls that want different things would go on for ever."""
        target = container.target
        if container != current(observed)[target]:
            return True
        if target in replaced:
            self._problems[target] = FleetError("another `portolan fleet` changes it too: call again")
            return False
        replaced.add(target)
        self._say(f"{target}: its image or limits have changed, replacing it")
        return True

    def watch(self, every_s: float) -> None:
        """Keep what there is healthy and on the chart, until interrupted."""
        told = ""
        while True:
            try:
                observed = self._look()
                wanted = {target: each.wanted for target, each in current(observed).items() if each.wanted is not None}
                for action in self._decided(observed, wanted, self._registered()):
                    self._carry_out(action, observed, wanted)
                trouble = ""
            except EngineError as error:
                trouble = str(error)
            if trouble != told:
                self._say(trouble or "the Docker Engine answers again")
                told = trouble
            time.sleep(every_s)

    def take_down(self, containers: Sequence[Observed]) -> tuple[list[Observed], CoordinatorAwayError | None]:
        """Off the chart and removed. What could not be ended, and why they are still on the chart if they are."""
        urls = [each.url for each in containers]
        self._taken_off(urls)
        left = []
        for each in containers:
            try:
                self._engine.remove(each)
                self._say(f"{each.target}: removed")
            except UnkillableError as error:
                self._engine.cut_off(each)
                self._say(f"{each.target}: {error}")
                left.append(each)
        for target in {each.target for each in containers}:
            shutil.rmtree(self._place(target), ignore_errors=True)
        # Again: one that watches may have put it back in between.
        return left, self._taken_off(urls)

    def _taken_off(self, urls: Sequence[str]) -> CoordinatorAwayError | None:
        try:
            self.take_off_the_chart(urls)
        except CoordinatorAwayError as error:
            return error
        return None

    def take_off_the_chart(self, urls: Sequence[str]) -> None:
        for runner in self._client.runners():
            if runner.url in urls and runner.state != "removed":
                self._client.remove(runner.id)

    def mark_unkillable(self, container: Observed, error: UnkillableError) -> None:
        memory = self._memory.get(container.target, Memory())
        self._memory[container.target] = tending.could_not_end(memory, container, time.monotonic())
        self._engine.cut_off(container)
        self._say(f"{container.target}: {error}; it is given up, and another is started in its place")

    def _decided(
        self, observed: Sequence[Observed], wanted: Mapping[str, Wanted], registered: frozenset[str] | None
    ) -> list[Action]:
        return tending.decide(observed, wanted, self._memory, registered, time.monotonic())

    def _look(self, targets: Mapping[str, object] | None = None) -> list[Observed]:
        observed = [self._probed(each) for each in self._engine.observe()]
        now = time.monotonic()
        for target in set(targets or ()) | {each.target for each in observed}:
            own = [each for each in observed if each.target == target]
            self._memory[target] = tending.noted(self._memory.get(target, Memory()), own, now)
        return observed

    @staticmethod
    def _probed(container: Observed) -> Observed:
        """An image without a health check is asked at its port."""
        if container.state is not State.running or container.health is not Health.none:
            return container
        try:
            well = httpx.get(f"{container.url}/healthz", timeout=PROBE_S, trust_env=False).is_success
        except httpx.HTTPError:
            well = False
        return replace(container, health=Health.healthy if well else Health.starting)

    def _registered(self) -> frozenset[str] | None:
        try:
            return frozenset(each.url for each in self._client.runners() if each.state != "removed")
        except PortolanError:
            return None  # it is away for a while; whatever needs it says so

    def _carry_out(self, action: Action, observed: Sequence[Observed], wanted: Mapping[str, Wanted]) -> None:
        target = tending.target_of(action)
        try:
            self._do(action, observed, wanted)
        except (GoneError, NameTakenError):
            return  # somebody else is at it: the next look shows what came of it
        except PortTakenError as error:
            # One that is just being made takes another port in the next round.
            if not isinstance(action, Create):
                self._port_is_taken(action.container, error)
            return
        except UnkillableError as error:
            assert not isinstance(action, Create)
            self.mark_unkillable(action.container, error)
            return
        except EngineAwayError:
            raise
        except PortolanError as error:
            if str(self._problems.get(target)) != str(error):
                self._say(f"{target}: {error}")
            self._problems[target] = error
            self._memory[target] = tending.failed(self._memory[target], time.monotonic())
            return
        self._problems.pop(target, None)
        self._memory[target] = tending.tried(self._memory[target], action, time.monotonic())

    def _do(self, action: Action, observed: Sequence[Observed], wanted: Mapping[str, Wanted]) -> None:
        match action:
            case Create(target, generation):
                self._create(wanted[target], generation, {each.port for each in observed})
            case Start(container):
                self._say(f"{container.target}: it has ended, starting it again")
                self._engine.start(container)
            case Restart(container):
                self._say(f"{container.target}: it is unhealthy, restarting it")
                self._engine.restart(container)
            case Remove(container):
                self._engine.remove(container)
            case Register(container, instead_of):
                runner = self._client.register(container.url, self._secret(container.target)[1])
                self.runners[container.target] = runner
                self.take_off_the_chart(instead_of)
                self._say(f"{container.target}: runner {runner.id}, {runner.target} on {runner.hardware}")

    def _create(self, wanted: Wanted, generation: int, in_use: set[int]) -> None:
        path, secret = self._secret(wanted.target)
        before = self._memory[wanted.target].port
        port = self._port(before, in_use)
        if before is not None and before != port:
            self._taken_off([url_of(before)])
        self._say(f"{wanted.target}: starting {wanted.image_name} at {url_of(port)}")
        made = replace(wanted, secret=fingerprint_of(secret))
        try:
            self._made.add(self._engine.create(made, generation, port, path))
        except PortTakenError:
            self._taken.add(port)
            raise

    def _port(self, before: int | None, in_use: set[int]) -> int:
        ports = range(self._first_port, min(self._first_port + PORTS, 65536))
        candidates: list[int] = [*ports] if before is None else [before, *ports]
        for port in candidates:
            if port not in in_use and port not in self._taken and _is_free(port):
                return port
        raise FleetError(f"no port from {ports.start} to {ports.stop - 1} is free: choose others with --first-port")

    def _port_is_taken(self, container: Observed, error: PortTakenError) -> None:
        self._taken.add(container.port)
        self._memory[container.target] = tending.lost_its_port(self._memory[container.target], container)
        self._say(f"{container.target}: {error}, taking another")

    def _give_up_unregistered(self, container: Observed) -> None:
        """What this call has made and could not put on the chart is not left behind."""
        problem = self._problems.get(container.target)
        if problem is None or container.id not in self._made:
            return
        try:
            self._engine.remove(container)
        except UnkillableError as error:
            self.mark_unkillable(container, error)
            return
        self._problems[container.target] = FleetError(f"{problem}; its container was removed again")

    def _hopeless(self, target: str, container: Observed | None, elapsed: float, within_s: float) -> Unserved | None:
        """A target that will not come up any more; what runs of it is stopped and stays, for its log."""
        problem = self._problems.get(target)
        if problem is not None:
            return Unserved(target, str(problem))
        late = elapsed > within_s
        if container is None or container.ready:
            return Unserved(target, f"not on the chart after {within_s:.0f} s") if late else None
        looping = container.state is State.restarting
        restarts = self._engine.restarts(container) if looping or late else None
        if looping and (restarts or 0) >= RESTARTS_OF_THE_HOPELESS:
            reason = f"it ends as soon as it starts ({restarts} times)"
        elif container.id in self._made and container.health is Health.unhealthy:
            reason = "it never got healthy"
        elif late:
            reason = f"it was not healthy after {within_s:.0f} s"
        else:
            return None
        log = self._engine.log_tail(container, LOG_LINES)
        with contextlib.suppress(GoneError, UnkillableError):
            self._engine.stop(container)
        return Unserved(target, f"{reason}, so it was stopped", tuple(log))

    def _secret(self, target: str) -> tuple[Path, str]:
        """The file that its container gets, and what it says; made once, by whoever comes first.

        The folder keeps every other user of the host out. The file itself can be read by all,
        because the user in the container is another one than this one, whose id the image chooses.
        """
        path = self._place(target) / "secret"
        try:
            if not path.exists():
                _make_secret(path)
            return path, path.read_text().strip()
        except OSError as error:
            raise FleetError(
                f"cannot keep a runner's secret in {path}: {(error.strerror or str(error)).lower()}"
            ) from error

    def _place(self, target: str) -> Path:
        return self._folder / target.replace("/", "-")


def _make_secret(path: Path) -> None:
    """Whole or not at all."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    part = path.with_name(f"secret.{os.getpid()}")
    part.write_text(f"{secrets.token_urlsafe(24)}\n")
    part.chmod(0o444)
    with contextlib.suppress(FileExistsError):
        path.hardlink_to(part)
    part.unlink()


def _doing(container: Observed | None) -> str:
    if container is None:
        return "no container yet"
    if container.state is State.running:
        return "healthy, not yet on the chart" if container.ready else f"running, {container.health}"
    return str(container.state)


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
