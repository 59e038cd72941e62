"""Runs a supervisor behind the runner API, from its start to its end.

The service binds the port, starts the supervisor, announces that it is ready, serves until a signal stops it, and
leaves no process behind. Its command line is in ``cli/commands.py``.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI

from protocol.events import HEARTBEAT_S
from protocol.redaction import redact
from protocol.runner import RunnerInfo
from runners.errors import FrameworkBrokenError, RefusedError, UnservableError
from runners.http.access import Access
from runners.http.boot import Boot
from runners.http.description import describe
from runners.http.enrolment import EnrolmentOptions, enrol
from runners.http.recordings import RecordingInbox
from runners.http.server import Service, build
from runners.http.watchdog import watch
from runners.isolation import scratch
from runners.isolation.events import EventLog
from runners.isolation.fork_server import Interpreter
from runners.isolation.offer import Offer
from runners.isolation.supervisor import Supervisor

KEPT_IDLE_S = 75
"""The seconds after which the server closes an idle connection. Clients stop using a connection much earlier, because a
request that arrives while the server closes the connection is lost."""
_BOUND_ALREADY = "another program listens there; choose another --port, or 0 for any free one"


@dataclass(frozen=True)
class ServeOptions:
    """The options of one runner service."""

    framework: str
    device: str
    interpreter: Interpreter = field(default_factory=Interpreter)
    host: str = "127.0.0.1"
    port: int = 0
    secret: str | None = None
    """The bearer secret. If None, a secret is generated and printed in the ready line."""
    memory_limit: int | None = None
    slots: int = 1
    """The maximum number of untimed cases that run at the same time. It is 1 on an accelerator."""
    heartbeat_s: float = HEARTBEAT_S
    ready_file: Path | None = None
    enrolment: EnrolmentOptions | None = None
    """The coordinator at which to enroll; None if a person registers the runner."""
    accept_recordings: bool = False
    """Whether the coordinator may send recordings to the runner."""

    def boot(self, recordings: tuple[str, ...] = ()) -> Boot:
        """Create a boot that serves the runner's suites, and the recordings at these paths."""
        log = EventLog()
        interpreter = replace(self.interpreter, suites=(*self.interpreter.suites, *recordings))
        return Boot(Supervisor(self.framework, self.device, log, self.memory_limit, interpreter, self.slots), log)


def bind(host: str, port: int) -> socket.socket:
    """Open a listening socket. The service does this first, so that a port in use is reported before anything slow is
    started."""
    try:
        family, kind, number, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, kind, number)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(128)
    except OSError as error:
        why = _BOUND_ALREADY if isinstance(error, OSError) and error.errno == 98 else "choose another --host or --port"
        raise UnservableError(f"cannot listen on {host}:{port}: {error.strerror or error}; {why}") from error
    return listening


async def serve(options: ServeOptions) -> int:
    """Serve until a signal arrives, and return the exit code. An accepted recording begins a new boot."""
    secret = options.secret or secrets.token_urlsafe(24)
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    listening = bind(options.host, options.port)
    watching = asyncio.create_task(watch())
    scratch.sweep()
    access = Access(secret)
    stop_requested = asyncio.create_task(stop.wait())
    refusal: asyncio.Task[str] | None = None
    boot = options.boot()
    with _inbox(options) as inbox:
        try:
            while True:
                starting = asyncio.create_task(_start(options, boot))
                await asyncio.wait({starting, stop_requested}, return_when=asyncio.FIRST_COMPLETED)
                if not starting.done():
                    starting.cancel()
                    return 0
                try:
                    info, offer = await starting
                except UnservableError as error:
                    if inbox is None or (suite := inbox.drop()) is None:
                        raise
                    _say(f"{suite} is not served: {error}")
                    await boot.supervisor.close()
                    boot = options.boot(inbox.paths)
                    continue
                if inbox is not None:
                    inbox.keep()
                access.tell_secrets(boot.supervisor.redaction.hide)
                service = Service(info, offer, boot.log, boot.supervisor, access, options.heartbeat_s, inbox)
                # Each boot listens on a copy of the socket. Between two boots, connections wait at the original.
                async with HttpServer(build(service), listening.dup()):
                    if refusal is None:
                        announce(options, secret, info, listening)
                        refusal = asyncio.create_task(_refusal(options.enrolment, listening, access))
                    acceptance = None if inbox is None else inbox.accepted
                    await _first_of(stop_requested, boot.supervisor.broken, refusal, acceptance)
                    boot.log.close()
                if refusal.done():
                    raise UnservableError(refusal.result())
                if boot.supervisor.broken.is_set():
                    raise UnservableError(
                        f"no further case can be run ({boot.supervisor.failure}): "
                        "correct this, and start the runner again"
                    )
                if stop_requested.done() or inbox is None:
                    return 0
                # A supervisor that ends kills all children of this process, so the next one must start afterwards.
                await boot.supervisor.close()
                boot = options.boot(inbox.paths)
        finally:
            await boot.supervisor.close()
            watching.cancel()
            listening.close()


async def _first_of(*ends: asyncio.Future[Any] | asyncio.Event | None) -> None:
    """Wait until one of these tasks is done, or one of these events is set."""
    events = [asyncio.create_task(end.wait()) for end in ends if isinstance(end, asyncio.Event)]
    futures = [end for end in ends if isinstance(end, asyncio.Future)]
    await asyncio.wait({*events, *futures}, return_when=asyncio.FIRST_COMPLETED)
    for event in events:
        event.cancel()


@contextlib.contextmanager
def _inbox(options: ServeOptions) -> Iterator[RecordingInbox | None]:
    """Yield the inbox for recordings if it is enabled, otherwise None."""
    if not options.accept_recordings:
        yield None
        return
    files = scratch.Scratch()
    try:
        yield RecordingInbox(options.framework, Path(files.folder))
    finally:
        files.close()


async def _refusal(enrolment: EnrolmentOptions | None, listening: socket.socket, access: Access) -> str:
    """Enroll the runner if this is configured. Returns only if the coordinator refuses, with the reason."""
    if enrolment is not None:
        try:
            await enrol(enrolment, listening.getsockname()[:2], access, _say)
        except RefusedError as error:
            return str(error)
    never: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    return await never


def _say(line: str) -> None:
    print(f"portolan-runner: {redact(line)}", file=sys.stderr, flush=True)


async def _start(options: ServeOptions, boot: Boot) -> tuple[RunnerInfo, Offer]:
    """Import the framework and check the device. Raises ``UnservableError`` if this fails."""
    try:
        offer = await boot.supervisor.open()
        description = await boot.supervisor.look()
        slots = boot.supervisor.slots
        return describe(options.framework, options.device, description, options.interpreter, slots), offer
    except FrameworkBrokenError as error:
        raise UnservableError(str(error)) from error


class HttpServer:
    """The HTTP server. It runs inside an ``async with`` block, and the caller handles signals."""

    def __init__(self, app: FastAPI, listening: socket.socket) -> None:
        self._listening = listening
        self._server = _Server(
            uvicorn.Config(
                app,
                log_level="critical",
                access_log=False,
                lifespan="off",
                timeout_keep_alive=KEPT_IDLE_S,
                timeout_graceful_shutdown=1,
                ws="none",
            )
        )

    async def __aenter__(self) -> HttpServer:
        self._task = asyncio.create_task(self._server.serve(sockets=[self._listening]))
        up = asyncio.create_task(self._server.up.wait())
        await asyncio.wait({self._task, up}, return_when=asyncio.FIRST_COMPLETED)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.should_exit = True
        await self._task
        # A connection whose response did not end within the grace time is still open, and would outlive its server.
        for connection in list(self._server.server_state.connections):
            connection.transport.abort()
        await asyncio.sleep(0)


class _Server(uvicorn.Server):
    """A uvicorn server that reports its start and does not handle signals."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.up = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.up.set()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def url_of(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def announce(
    options: ServeOptions,
    secret: str,
    info: RunnerInfo,
    listening: socket.socket,
    write: Callable[[str], object] = print,
) -> None:
    """Write the ready line (JSON) to stdout and to the ready file. After this, the service accepts jobs."""
    ready = {
        "url": url_of(listening),
        "boot_id": info.boot_id,
        "framework": info.framework,
        "version": info.version,
        "device": info.device,
        "hardware": info.fingerprint.hardware,
    }
    if options.enrolment is not None:
        ready["name"] = options.enrolment.name
    elif options.secret is None:
        ready["secret"] = secret
    line = json.dumps(ready)
    if options.ready_file is not None:
        # The file gets its name only when it is complete, because a reader may be waiting for it.
        draft = options.ready_file.with_name(f".{options.ready_file.name}.{os.getpid()}")
        draft.touch(mode=0o600)
        draft.write_text(line + "\n")
        draft.replace(options.ready_file)
    write(line)
    sys.stdout.flush()
