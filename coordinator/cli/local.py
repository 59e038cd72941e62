"""The local instance: database, coordinator and runners, which are started, kept running and stopped together."""

from __future__ import annotations

import asyncio
import contextlib
import getpass
import io
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

from coordinator.cli.directory import DataDirectory, Whereabouts, kept_admin_token, kept_secret
from coordinator.cli.processes import STOP_LIMIT_S, ChildProcess
from coordinator.cli.rest_client import Client
from coordinator.cli.server import ListenAddress, listening_on, names_of_host, server_of
from coordinator.cli.shared_options import split
from coordinator.cli.target_names import complaint_about
from coordinator.configuration.backoff import Backoff
from coordinator.configuration.settings import log_format
from coordinator.errors import CoordinatorAwayError, CoordinatorError, DatabaseError, InstanceError, PortolanError
from coordinator.operating_system.atomic_files import open_log, write_private
from protocol.exit_codes import CANNOT_SERVE, UNKNOWN_TARGET

if TYPE_CHECKING:
    from coordinator.configuration.settings import AnonymousRole, Settings
    from coordinator.database.embedded import EmbeddedPostgres

READY_LIMIT_S = 180.0
RESTART = Backoff(first_s=1.0, longest_s=60.0)
LOOK_EVERY_S = 0.1
LOG_LIMIT_BYTES = 5_000_000
FIRST_STARTS = 3
"""The maximum number of starts of a runner that has never been ready. After these starts, the instance gives the runner
up."""
MOST_SLOTS = 4
SLOT_BYTES = 3 << 30
"""The memory of a slot in bytes: a child process with a framework and its compiled programs, and a spare child."""

Say = Callable[[str], None]


@dataclass
class LocalRunner:
    """A runner process of this instance, including all of its restarts."""

    target: str
    folder: Path
    url: str
    child: ChildProcess
    state: Literal["starting", "serving", "waiting", "left out"] = "starting"
    since: float = field(default_factory=time.monotonic)
    """The time at which the current state began."""
    failures: int = 0
    id: int | None = None


@contextmanager
def local_instance(
    directory: DataDirectory,
    *,
    database: str | None,
    host: str,
    port: int,
    say: Say,
    or_any_port: bool = False,
    enrolment_key_file: Path | None = None,
    for_runners: ListenAddress | None = None,
    hosts: Sequence[str] = (),
    anonymous: AnonymousRole | None = "viewer",
    slots: int = 1,
) -> Iterator[LocalInstance]:
    """Start the database and the coordinator. At the end of the block, stop the runners, the coordinator and the
    database.

    ``slots`` is the maximum number of untimed cases that each runner may run at the same time.
    """
    from coordinator.configuration.settings import Settings, host_names
    from coordinator.database.embedded import EmbeddedPostgres
    from coordinator.database.grants import APPLICATION, MIGRATION, READING
    from coordinator.dispatch.installation import settle_at
    from coordinator.migration import upgrade

    # Before anything starts, so that an invalid variable is reported immediately.
    settings = Settings(
        "",
        enrolment_key_file=enrolment_key_file,
        hosts=host_names(*names_of_host(host), *hosts),
        admin_name=_owner(),
        anonymous_role=anonymous,
    )
    with ExitStack() as stack:
        stack.enter_context(directory.hold())
        listener = stack.enter_context(listening_on(host, port, or_any_port=or_any_port))
        second = stack.enter_context(listening_on(*for_runners, option="--runners-port")) if for_runners else None
        began = time.monotonic()
        postgres = None if database else EmbeddedPostgres(directory.postgres)
        dsns = _same_for_all_roles(database) if database else _start_embedded(stack, cast(EmbeddedPostgres, postgres))
        if lacking := asyncio.run(upgrade(dsns[MIGRATION])):
            say(lacking)
        place = None if postgres is None else postgres.place
        if note := asyncio.run(settle_at(dsns[APPLICATION], place)).note:
            say(note)
        say(f"database ready after {time.monotonic() - began:.1f} s")
        token = kept_admin_token(directory.admin_token)
        settings = replace(
            settings,
            database_url=dsns[APPLICATION],
            runners_port=None if second is None else second.getsockname()[1],
            admin_token=token,
        )
        stack.enter_context(_logging_to(directory.log, settings.secrets))
        listeners = [listener] if second is None else [listener, second]
        coordinator = stack.enter_context(_coordinator(settings, listeners, directory.log))
        host, port = listener.getsockname()[:2]
        instance = LocalInstance(
            directory, f"http://{_reachable(host)}:{port}", token, coordinator, postgres, say, slots
        )
        stack.callback(instance.stop_runners)
        directory.announce(Whereabouts(instance.url, dsns[READING]))
        yield instance


def _start_embedded(stack: ExitStack, postgres: EmbeddedPostgres) -> Mapping[str, str]:
    stack.enter_context(postgres)
    return postgres.provide_roles()


def _same_for_all_roles(dsn: str) -> Mapping[str, str]:
    """Map every role to the DSN of ``--database``."""
    from coordinator.database.grants import ROLES

    return dict.fromkeys(ROLES, dsn)


@contextmanager
def _coordinator(settings: Settings, listeners: list[socket.socket], log: Path) -> Iterator[threading.Thread]:
    """Run the coordinator in its own thread."""
    from coordinator.app import create_app

    server = server_of(create_app(settings), settings)
    thread = threading.Thread(target=server.run, args=(listeners,), name="coordinator", daemon=True)
    thread.start()
    try:
        while not server.started:
            if not thread.is_alive():
                raise InstanceError(f"the coordinator does not start: read the reason in {log}")
            time.sleep(0.01)
        yield thread
    finally:
        server.should_exit = True
        thread.join(STOP_LIMIT_S)


class LocalInstance:
    """Keeps its runners and its database alive: ``instance.serve([…]); while …: instance.tend()``.

    The coordinator has its own thread. Everything else runs in the caller's thread, which must live as long as the
    instance.
    """

    def __init__(
        self,
        directory: DataDirectory,
        url: str,
        token: str,
        coordinator: threading.Thread,
        postgres: EmbeddedPostgres | None,
        say: Say,
        slots: int,
    ) -> None:
        self.url = url
        self.token = token
        self.runners: list[LocalRunner] = []
        self._directory = directory
        self._coordinator = coordinator
        self._postgres = postgres
        self._postgres_failures = 0
        self._postgres_due = 0.0
        self._say = say
        self._slots = slots

    def serve(self, targets: Sequence[str]) -> list[LocalRunner]:
        """Start a runner process for each target. ``tend`` registers the runners when they are ready."""
        new_runners = []
        for target in targets:
            folder = self._directory.runner(target)
            url = f"http://127.0.0.1:{_kept_port(folder / 'port')}"
            kept_secret(folder / "secret")
            new_runners.append(LocalRunner(target, folder, url, _launch(target, folder, url, self._slots)))
        self.runners += new_runners
        return new_runners

    def tend(self) -> None:
        """Check the database and every runner. Register a runner when it is ready, and restart it when it has ended."""
        self._tend_database()
        if not self._coordinator.is_alive():
            raise InstanceError(f"the coordinator ended unexpectedly: read the reason in {self._directory.log}")
        for runner in self.runners:
            self._tend(runner)

    def _tend_database(self) -> None:
        """Restart the embedded PostgreSQL if it ended, for example because the OOM killer ended it. Its write-ahead log
        recovers the data."""
        now = time.monotonic()
        if self._postgres is None or self._postgres.running or now < self._postgres_due:
            return
        self._say("PostgreSQL ended unexpectedly; restarting it")
        try:
            # First clean up after the previous server, its lock included.
            self._postgres.stop()
            self._postgres.start()
        except DatabaseError as error:
            self._postgres_failures += 1
            self._postgres_due = time.monotonic() + RESTART.pause_s(self._postgres_failures)
            self._say(f"PostgreSQL cannot be started, retrying: {error}")
            return
        self._postgres_failures = 0
        self._say(f"database ready again after {time.monotonic() - now:.1f} s")

    def say_login_link(self) -> None:
        """Print a link that signs in a browser once. It is printed only on a terminal, so that no log contains it."""
        if not sys.stdout.isatty():
            self._say("to open it signed in, run: portolan login --link")
            return
        # A failure does not matter: `portolan login --link` prints another link.
        with contextlib.suppress(CoordinatorError), Client(self.url, self.token) as client:
            self._say(f"open it signed in (works once, for a few minutes): {self.url}{client.login_link().path}")

    @property
    def settled(self) -> bool:
        """Whether every runner has been ready at least once, or was given up."""
        return all(runner.state in ("serving", "left out") or runner.id is not None for runner in self.runners)

    @property
    def serving(self) -> list[str]:
        return [runner.target for runner in self.runners if runner.state == "serving"]

    def _tend(self, runner: LocalRunner) -> None:
        elapsed_s = time.monotonic() - runner.since
        if runner.state == "left out":
            return
        if runner.state == "waiting":
            if elapsed_s >= RESTART.pause_s(runner.failures):
                runner.child = _launch(runner.target, runner.folder, runner.url, self._slots)
                runner.state, runner.since = "starting", time.monotonic()
        elif (status := runner.child.exit_status()) is not None:
            if status == UNKNOWN_TARGET:
                raise InstanceError(f"{runner.target}: {runner.child.complaint}")
            how = f"exit code {status}" if status >= 0 else signal.Signals(-status).name
            self._fail(runner, f"ended with {how}", runner.child.complaint, hopeless=status == CANNOT_SERVE)
        elif runner.state == "serving":
            if elapsed_s > RESTART.longest_s:
                runner.failures = 0
        elif runner.child.first_line is not None:
            self._register(runner)
        elif elapsed_s > READY_LIMIT_S:
            self._fail(runner, "did not start", f"it was not ready after {READY_LIMIT_S:.0f} s", hopeless=True)

    def _register(self, runner: LocalRunner) -> None:
        try:
            with Client(self.url, self.token) as client:
                registration = client.register(runner.url, kept_secret(runner.folder / "secret"))
                _forget_earlier(client, runner.folder / "registration", registration.id)
        except CoordinatorAwayError:
            return  # not the runner's fault, so it is tried again at the next call
        except PortolanError as error:
            self._fail(runner, "could not be registered", str(error))
            return
        runner.state, runner.since, runner.id = "serving", time.monotonic(), registration.id
        again = " again" if runner.failures else ""
        away = (
            ""
            if registration.state == "online"
            else f"; {registration.state}: {registration.reason or 'not reached yet'}"
        )
        self._say(f"{runner.target}: runner ready{again}, {registration.target} on {registration.hardware}{away}")

    def _fail(self, runner: LocalRunner, failure: str, reason: str, *, hopeless: bool = False) -> None:
        """Restart the runner after a pause. If the runner has never been registered, it is given up after
        ``FIRST_STARTS`` failures, or at the first failure if ``hopeless``."""
        runner.child.stop()
        runner.failures += 1
        if runner.id is None and (hopeless or runner.failures == FIRST_STARTS):
            runner.state = "left out"
            self._say(f"{runner.target}: left out, {reason}")
            return
        runner.state, runner.since = "waiting", time.monotonic()
        self._say(
            f"{runner.target}: the runner {failure} ({reason}), starting it again in "
            f"{RESTART.pause_s(runner.failures):.0f} s (its log: {runner.folder / 'log'})"
        )

    def stop_runners(self) -> None:
        for runner in self.runners:
            runner.child.ask_to_stop()
        for runner in self.runners:
            runner.child.stop()


def _forget_earlier(client: Client, id_file: Path, new_id: int) -> None:
    """Remove the registrations of the runner at earlier ports, because other programs may listen at these ports by
    now."""
    with contextlib.suppress(FileNotFoundError, ValueError):
        earlier = int(id_file.read_text())
        if earlier != new_id:
            # Another user may have removed the registration already.
            with contextlib.suppress(CoordinatorError):
                client.remove(earlier)
    write_private(id_file, f"{new_id}\n")


def slots_each(runners: int, cores: int, free_bytes: int) -> int:
    """The number of slots for each of several runners on one machine. It is greater than one only if the machine has
    enough cores and memory for all runners."""
    return max(1, min(MOST_SLOTS, cores // runners, free_bytes // (SLOT_BYTES * runners)))


def slots_here(runners: int) -> int:
    """``slots_each`` for the cores and the free memory of this machine."""
    import psutil  # not needed by commands that start nothing

    return slots_each(max(1, runners), os.cpu_count() or 1, psutil.virtual_memory().available)


def _launch(target: str, folder: Path, url: str, slots: int) -> ChildProcess:
    log = folder / "log"
    framework, device = target.split("/", 1)
    port = url.rsplit(":", 1)[1]
    return ChildProcess(
        [
            *(sys.executable, "-P", "-m", "runners", "serve", framework, device),
            *("--host", "127.0.0.1", "--port", port, "--secret-file", str(folder / "secret")),
            *("--slots", str(slots)),
        ],
        open_log(log, LOG_LIMIT_BYTES),
    )


def parse_targets(values: Sequence[str]) -> list[str]:
    """Return the targets for which to start runners. Each target must have the form framework/device."""
    targets = list(dict.fromkeys(split(values)))
    for target in targets:
        framework, _, device = target.partition("/")
        # The name of a device may contain a hyphen (tpu-lowered), the name of a framework does not.
        if not framework.isidentifier() or not device.replace("-", "_").isidentifier():
            raise InstanceError(f"'{target}' is not a target to serve: write framework/device, such as torch/cpu")
    return targets


def require_known(targets: Sequence[str]) -> None:
    """Raise ``InstanceError`` for a misspelled target, before anything is started for any target."""
    if (complaint := complaint_about(targets)) is not None:
        raise InstanceError(complaint)


def _owner() -> str:
    """The name of the user who owns this instance. The audit log shows this name for actions with the admin token."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "admin"  # a user of a container has no name


def _reachable(host: str) -> str:
    """The address at which this machine reaches a server that listens on ``host``."""
    everywhere = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}
    return everywhere.get(host, f"[{host}]" if ":" in host else host)


def _kept_port(port_file: Path) -> int:
    """Return the stored port if it is still free; otherwise store and return another free port. A runner keeps its port
    because its URL identifies it."""
    with contextlib.suppress(FileNotFoundError, ValueError):
        port = int(port_file.read_text())
        with socket.socket() as probe, contextlib.suppress(OSError, OverflowError):
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port))
            return port
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    write_private(port_file, f"{port}\n")
    return port


@contextmanager
def _logging_to(path: Path, secrets: Collection[str]) -> Iterator[None]:
    """Write all logs to a file, because the terminal shows the command's output."""
    from coordinator.process.logs import log_to

    with (
        open_log(path, LOG_LIMIT_BYTES) as raw,
        io.TextIOWrapper(raw, encoding="utf-8", line_buffering=True) as file,
        log_to(file, log_format(file), secrets),
    ):
        yield


@contextmanager
def stoppable() -> Iterator[None]:
    """Make Ctrl-C, SIGTERM and SIGHUP raise ``KeyboardInterrupt`` once. Later signals do not disturb the shutdown."""
    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def stop(number: int, frame: object) -> None:
        for signal_number in signals:
            signal.signal(signal_number, signal.SIG_IGN)
        raise KeyboardInterrupt

    before = [signal.signal(number, stop) for number in signals]
    try:
        yield
    finally:
        for number, handler in zip(signals, before, strict=True):
            signal.signal(number, handler)
