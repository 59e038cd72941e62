"""A rollout creates the specified containers of a fleet and registers their runners. It exists only during one command.

If a container ends later, the scheduler restarts it at the same URL with the same secret, so the coordinator can
connect to it again.
"""

from __future__ import annotations

import hashlib
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx
from filelock import FileLock, Timeout

from coordinator.cli.directory import DataDirectory, kept_secret
from coordinator.cli.progress import Board
from coordinator.cli.rest_client import Client
from coordinator.errors import CoordinatorAwayError, FleetError, PortolanError, StuckError
from coordinator.fleet.scheduler import Container, RunnerSpec, Scheduler

LOOK_EVERY_S = 0.5
ANSWER_S = 2.0
LOG_LINES = 30
RESTARTS_OF_THE_HOPELESS = 3
"""The number of restarts after which a container counts as hopeless."""


@contextmanager
def fleet_folder(directory: DataDirectory, fleet: str, say: Callable[[str], object]) -> Iterator[Path]:
    """Lock and yield the folder with the secrets of a fleet's runners, so that only one call uses it at a time."""
    folder = directory.path / "fleet" / fleet
    lock = FileLock(folder / "lock", mode=0o600, fallback_to_soft=False)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock.acquire(blocking=False)
    except Timeout:
        say(f"waiting for another `portolan fleet` command on fleet '{fleet}'")
        lock.acquire()
    except OSError as error:
        raise _unwritable(folder, error) from error
    try:
        yield folder
    finally:
        lock.release()


class Rollout:
    def __init__(self, scheduler: Scheduler, client: Client, folder: Path, board: Board) -> None:
        self._scheduler = scheduler
        self._client = client
        self._folder = folder
        self._board = board
        self._created: set[str] = set()
        """Ids of the containers that this rollout has created."""

    def bring_up(self, specs: Mapping[str, RunnerSpec], within_s: float) -> list[str]:
        """Create the containers of these specifications, and register their runners as soon as they answer. Returns the
        targets for which this failed."""
        deadline, failed_targets = time.monotonic() + within_s, []
        containers: dict[str, Container] = {}
        for target, spec in specs.items():
            try:
                containers[target] = self._ensure(spec)
            except FleetError as error:
                failed_targets.append(target)
                self._board.say(f"{target}: {error}")
        for target, container in containers.items():
            try:
                self._wait(container, deadline)
                runner = self._client.register(container.url, _secret(self._secret_file(target)))
                self._board.say(f"{target}: runner {runner.id}, {runner.target} on {runner.hardware}")
            except PortolanError as error:
                failed_targets.append(target)
                self._abandon(container, str(error))
        self._board.show([])
        return failed_targets

    def take_down(self, containers: Sequence[Container]) -> tuple[list[str], CoordinatorAwayError | None]:
        """Remove the registrations of the runners, and their containers.

        Returns the names of the containers that could not be stopped. If the registrations could not be removed, also
        returns the reason.
        """
        away, stuck_containers = None, []
        try:
            self._take_off_the_chart([container.url for container in containers])
        except CoordinatorAwayError as error:
            away = error
        for container in containers:
            try:
                self._scheduler.remove(container)
                self._board.say(f"{container.target}: removed")
            except StuckError as error:
                self._board.say(f"{container.target}: {error}")
                stuck_containers.append(container.name)
            shutil.rmtree(self._secret_file(container.target).parent, ignore_errors=True)
        return stuck_containers, away

    def _ensure(self, spec: RunnerSpec) -> Container:
        """Return the target's container. Create it if it does not exist, and replace it if it does not match the
        specification.
        """
        target, file = spec.target, self._secret_file(spec.target)
        spec = spec.model_copy(update={"secret": hashlib.sha256(_secret(file).encode()).hexdigest()[:16]})
        before = {container.target: container for container in self._scheduler.list()}.get(target)
        if before is not None:
            flaw = before.flaw(spec)
            if flaw is None:
                return before
            self._board.say(f"{target}: {flaw}, replacing it")
            self._scheduler.remove(before)
        replacement = self._scheduler.create(spec, file, before.url if before else None)
        self._created.add(replacement.id)
        self._board.say(f"{target}: starting {spec.image.name} at {replacement.url}")
        if before is not None and before.url != replacement.url:
            self._board.say(f"{target}: another program listens at {before.url}, taking another port")
            self._take_off_the_chart([before.url])
        return replacement

    def _wait(self, container: Container, deadline: float) -> None:
        """Wait until the runner responds. Raises ``FleetError`` if it cannot respond any more, or at the deadline."""
        while not _answers(container.url):
            actual_state = {actual.id: actual for actual in self._scheduler.list(usage=True)}.get(container.id)
            if actual_state is None:
                raise FleetError("its container was removed by another command: run this command again")
            if actual_state.state == "restarting" and (actual_state.restarts or 0) >= RESTARTS_OF_THE_HOPELESS:
                raise FleetError(f"it exits as soon as it starts ({actual_state.restarts} times)")
            if actual_state.trouble is not None:
                raise FleetError(actual_state.trouble)
            left_s = deadline - time.monotonic()
            if left_s < 0:
                raise FleetError("it did not become healthy in time: give it more time with --healthy-within")
            self._board.show([f"{container.target}: {actual_state.state}, not healthy yet, {left_s:.0f} s left"])
            time.sleep(LOOK_EVERY_S)

    def _abandon(self, container: Container, reason: str) -> None:
        """Remove a container that this rollout has created, and print the end of its log."""
        log = b"".join(self._scheduler.logs(container, tail=LOG_LINES)).decode(errors="replace")
        if container.id in self._created:
            try:
                self._scheduler.remove(container)
                reason = f"{reason}; its container was removed"
            except StuckError as error:
                reason = f"{reason}; {error}"
        for line in (f"{container.target}: {reason}", *(f"    {line}" for line in log.splitlines() if line.strip())):
            self._board.say(line)

    def _take_off_the_chart(self, urls: Sequence[str]) -> None:
        for runner in self._client.runners():
            if runner.url in urls and runner.state != "removed":
                self._client.remove(runner.id)

    def _secret_file(self, target: str) -> Path:
        return self._folder / target.replace("/", "-") / "secret"


def _answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/healthz", timeout=ANSWER_S, trust_env=False).is_success
    except httpx.HTTPError:
        return False


def _secret(file: Path) -> str:
    """Return the secret in the file. The first call creates the file.

    The folder keeps out all other users of the host. The file itself can be read by everyone, because the container
    runs as another user, whose id the image chooses.
    """
    try:
        file.parent.mkdir(mode=0o700, exist_ok=True)
        secret = kept_secret(file)
        file.chmod(0o444)
    except OSError as error:
        raise _unwritable(file, error) from error
    return secret


def _unwritable(path: Path, error: OSError) -> FleetError:
    return FleetError(
        f"the secret of a runner cannot be stored in {path} ({(error.strerror or str(error)).lower()}): "
        "correct this, or choose another data directory with --data-dir"
    )
