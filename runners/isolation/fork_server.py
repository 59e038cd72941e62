"""The fork server: starts a zygote, makes it fork children, and ends them.

No other code may start processes in the supervisor: every child of the supervisor except the zygote counts as an orphan
of a case.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import shlex
import signal
import socket
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from protocol.catalogue import CatalogueSuite
from protocol.limits import MAX_CATALOGUE_BYTES
from protocol.model import first_fault
from protocol.redaction import without_own_secrets
from runners.errors import (
    HOW_TO_REPAIR,
    ChannelLostError,
    FrameworkBrokenError,
    FrameworkError,
    NoScratchError,
    UnknownFrameworkError,
)
from runners.isolation import processes, scratch
from runners.isolation.channel import UNREADABLE, Message
from runners.isolation.child import Child, Hear
from runners.isolation.loop_channel import LoopChannel, OutputPipe
from runners.isolation.offer import Offer, OfferBuilder
from runners.settings import inherited_variables

IMPORT_LIMIT_S = 300.0
"""The maximum time to import a framework. On a cold disk, torch took 60 s."""
FORK_LIMIT_S = 30.0
FORK_PAUSE_S = 0.05
"""The pause before another fork if the limit of processes is reached. The processes of a case that is being killed
still count towards this limit."""
START_LIMIT_S = 150.0
"""The maximum time to start a Python interpreter, even on a slow and busy disk."""
PROJECT = Path(__file__).absolute().parents[2]
LAUNCHER = Path(__file__).absolute().parents[1] / "launch.py"
ZYGOTE = "runners.isolation.zygote"
"""The module that the launcher runs as the zygote."""
UNEXPECTED = "a message of an unknown form"


@dataclass(frozen=True)
class Interpreter:
    """The Python that has the framework. It runs the zygote and its children; the supervisor may run in another one."""

    path: str = sys.executable
    is_chosen: bool = False
    """Whether the user chose the interpreter."""
    suites: tuple[str, ...] = ()
    """The absolute paths of additional suites to import."""

    @property
    def options(self) -> str:
        """The command-line options for these settings, each with a leading space; empty if none are needed."""
        words = ["--python", self.path] if self.is_chosen else []
        for path in self.suites:
            words += ["--suite", path]
        return "".join(f" {shlex.quote(word)}" for word in words)


class ForkServer:
    """A running zygote and the children forked from it."""

    def __init__(
        self, framework: str, device: str, on_death: Callable[[], None], interpreter: Interpreter | None = None
    ) -> None:
        self._interpreter = interpreter or Interpreter()
        self._framework = framework
        self._importing = framework
        """The framework or suite that is being imported, for the error if the zygote fails."""
        self._device = device
        self._on_death = on_death
        self._children: dict[int, Child] = {}
        self._waiting: dict[int, tuple[Child, asyncio.Future[bool]]] = {}
        """The children that are being forked, by request. The future is true if the child was forked, false if not."""
        self._requests = itertools.count(1)
        # Held while forking and while killing: a new child whose pid is not known yet must not be killed as an orphan.
        self._forking = asyncio.Lock()
        self._pids = processes.PidCounter()
        self._closing = False
        self._started = False
        self.alive = False

    async def start(self) -> Offer:
        """Start the zygote and import the framework. Returns the catalogue."""
        processes.become_subreaper()
        try:
            self._scratch = scratch.Scratch()
        except OSError as error:
            raise NoScratchError(
                f"there is no space for temporary files ({error}); free some, or name another folder in "
                f"{scratch.VARIABLE}"
            ) from error
        ours, theirs = socket.socketpair()
        log_read, log_write = os.pipe()
        self._log = OutputPipe(log_read, 16 << 10)
        ready: asyncio.Future[list[Offer]] = asyncio.get_running_loop().create_future()
        self._ready = ready
        self._greeted = asyncio.Event()
        self._offer = OfferBuilder()
        try:
            self._process = await asyncio.create_subprocess_exec(
                self._interpreter.path,
                str(LAUNCHER),
                ZYGOTE,
                str(theirs.fileno()),
                self._framework,
                self._device,
                str(os.getpid()),
                *self._interpreter.suites,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log_write,
                stderr=log_write,
                pass_fds=[theirs.fileno()],
                env=environment(inherited_variables()) | {scratch.VARIABLE: self._scratch.folder},
                # A Ctrl-C in the terminal must reach only the supervisor, which then ends the zygote in order.
                start_new_session=True,
            )
        except OSError as error:
            ours.close()
            self._log.close()
            await asyncio.to_thread(self._scratch.close)
            raise FrameworkBrokenError(
                f"{self._interpreter.path} cannot be run ({error.strerror}): name another Python with --python"
            ) from error
        finally:
            theirs.close()
            os.close(log_write)
        self._started = self.alive = True
        self._channel = LoopChannel(ours, self._take, self._lose, MAX_CATALOGUE_BYTES)
        self._watcher = asyncio.create_task(self._watch())
        try:
            async with asyncio.timeout(START_LIMIT_S):
                await self._greeted.wait()
        except TimeoutError:
            raise self._broken(
                f"no Python interpreter started within {START_LIMIT_S:g} s; try starting it by hand"
            ) from None
        try:
            async with asyncio.timeout(IMPORT_LIMIT_S):
                # Popped from the list, because the future lives on: the offer's memory is freed after its use.
                return (await ready).pop()
        except TimeoutError:
            reason = f"{self._importing} was not imported within {IMPORT_LIMIT_S:g} s; try importing it by hand"
            raise self._broken(reason) from None

    def _broken(self, reason: str, kind: type[FrameworkError] = FrameworkBrokenError) -> FrameworkError:
        """Make the error for this reason, with the interpreter's path if the user chose the interpreter."""
        return kind(one_line(f"{self._interpreter.path}: {reason}" if self._interpreter.is_chosen else reason))

    def _give_up(self, reason: str, kind: type[FrameworkError] = FrameworkBrokenError) -> None:
        """Report that the start has failed, unless the start is already over or nobody waits for it any more."""
        if not self._ready.done() and not self._closing:
            self._ready.set_exception(self._broken(reason, kind))
        self._greeted.set()

    async def fork(self, number: int, hear: Hear) -> Child:
        """Fork a new child. While the limit of processes is reached, try again.

        Raises ``FrameworkBrokenError`` if no child can be forked.
        """
        give_up_at = time.monotonic() + FORK_LIMIT_S
        while (child := await self._fork_once(number, hear)) is None:
            if time.monotonic() > give_up_at:
                raise FrameworkBrokenError(
                    "no process can be started, because the limit of processes is reached: raise it "
                    "(`ulimit -u`, or --pids of a container), or run fewer slots"
                )
            await asyncio.sleep(FORK_PAUSE_S)
        return child

    async def _fork_once(self, number: int, hear: Hear) -> Child | None:
        """Fork a child once. Returns None if the limit of processes is reached."""
        async with self._forking:
            if not self.alive:
                raise FrameworkBrokenError("the process that imported the framework has ended; start the runner again")
            connection, theirs = socket.socketpair()
            pipes = [os.pipe(), os.pipe()]
            ends = [theirs.fileno(), *(writing for _, writing in pipes)]
            request = next(self._requests)
            room = self._scratch.room(str(request))
            child = Child(number, connection, [reading for reading, _ in pipes], room, hear)
            answer: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
            self._waiting[request] = child, answer
            try:
                order = {"type": "fork", "request": request, "room": child.room}
                self._channel.send(order, ends)
                async with asyncio.timeout(FORK_LIMIT_S):
                    has_process = await answer
            except (TimeoutError, ChannelLostError) as error:
                child.dispose()
                # ``Process.kill()`` is not used: it would reap a zygote that has just ended, and ``_watch``, which
                # waits for the zygote, would miss the end.
                if (zygote := processes.look(self._process.pid)) is not None:
                    processes.send(zygote, signal.SIGKILL)
                raise FrameworkBrokenError(
                    f"the process that imported the framework cannot fork any more ({error or 'no answer'}); "
                    "start the runner again"
                ) from error
            finally:
                self._waiting.pop(request, None)
                theirs.close()
                for _, writing in pipes:
                    os.close(writing)
            if has_process:
                return child
            child.dispose()
            return None

    async def end(self, child: Child) -> None:
        """Kill a child and its descendants. Returns when they are gone."""
        if not child.gone.is_set() and child.pid:
            # The fast way, for almost all children: no other processes, and no case is running.
            process = processes.look(child.pid)
            if process and not processes.children(child.pid):
                processes.send(process, signal.SIGKILL)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(1.0):
                        await child.gone.wait()
        await self._kill_others(child.pid)
        if self.alive:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(processes.KILL_LIMIT_S):
                    await child.gone.wait()
        self._children.pop(child.pid, None)
        child.dispose()
        await asyncio.to_thread(self._scratch.clear, child.room)

    def is_surely_alone(self, child: Child) -> bool:
        """Whether no process at all was started since the last check that found no leftovers of this child.

        This is the fast check, because almost no case starts a process.
        """
        newest = self._pids.read()
        return newest is not None and child.found_alone_at == newest

    async def has_orphans(self, child: Child) -> bool:
        """Whether a case left processes behind: descendants of its child, or orphans below the zygote.

        Called after every case, unless the child ``is_surely_alone``.
        """
        newest = self._pids.read()
        has_orphans = await self._look_for_orphans(child)
        child.found_alone_at = None if has_orphans else newest
        return has_orphans

    async def _look_for_orphans(self, child: Child) -> bool:
        if processes.children(child.pid):
            return True
        if not self._strangers():
            return False
        # A child that is being forked is also unknown until the zygote reports its pid. So wait, then look again.
        async with self._forking:
            return bool(self._strangers())

    def _strangers(self) -> set[int]:
        return processes.children(self._process.pid) - self._children.keys()

    async def mourn(self) -> None:
        """If the zygote is dead, wait until all its processes are gone and ``on_death`` was called."""
        if not self.alive:
            await asyncio.wait([self._watcher])

    async def close(self) -> None:
        """Kill the zygote, its children and every other process below this one."""
        self._closing = True
        self._pids.close()
        if not self._started:
            return
        if self.alive:
            await self._kill_others(self._process.pid)
        await self._watcher
        for child in self._children.values():
            child.dispose()
        self._children.clear()
        self._channel.close()
        self._log.close()
        await asyncio.to_thread(self._scratch.close)

    def log_tail(self) -> str:
        """Return the zygote's output since the last call, such as the traceback of a failed import."""
        return self._log.take()[0].decode("utf-8", "replace")

    async def _kill_others(self, aim: int) -> None:
        """Kill the process ``aim`` and every orphan. If ``aim`` is the zygote, its children are killed too."""
        zygote, me = self._process.pid, os.getpid()

        def find(table: Mapping[int, processes.Process]) -> list[processes.Process]:
            roots = {pid for pid, process in table.items() if process.parent in (zygote, me) and pid not in keep}
            return processes.descendants(roots, table)

        async with self._forking:
            keep = set() if aim == zygote else {zygote, *self._children} - {aim}
            if self.alive and aim != zygote and not processes.children(zygote) - keep:
                return
            await self._kill(find)

    async def _kill(self, find: Callable[[Mapping[int, processes.Process]], list[processes.Process]]) -> None:
        await asyncio.to_thread(processes.kill, find)
        processes.bury(except_pid=self._process.pid)

    async def _watch(self) -> None:
        await self._process.wait()
        self.alive = False
        self._lose("the zygote ended")
        if not self._closing:
            await self._kill(self._left_by_zygote)
        for child in list(self._children.values()):
            child.note_end(None)
        if not self._closing and self._ready.done():
            self._on_death()

    def _left_by_zygote(self, table: Mapping[int, processes.Process]) -> list[processes.Process]:
        me = os.getpid()
        roots = [process.pid for process in table.values() if process.parent == me]
        return processes.descendants(roots, table)

    def _take(self, message: Message) -> None:
        match message:
            case {"type": "greeting"}:
                self._greeted.set()
            case {"type": "importing", "what": str(what)}:
                self._importing = what
            case {"type": "suite", "suite": piece} if not self._ready.done():
                self._receive_suite(piece)
            case {"type": "ready"} if not self._ready.done():
                # Drop the builder: its parts are as large as the offer, and would stay in memory as long as the zygote.
                offer, self._offer = self._offer.build(), OfferBuilder()
                self._ready.set_result([offer])
                self._greeted.set()
            case {"type": "broken", "reason": reason}:
                self._give_up(str(reason))
            case {"type": "unknown", "reason": reason}:
                self._give_up(str(reason), UnknownFrameworkError)
            case {"type": "forked", "request": request, "pid": pid} if request in self._waiting:
                child, answer = self._waiting[request]
                child.pid = pid
                self._children[pid] = child
                if not answer.done():
                    answer.set_result(True)
            case {"type": "refused", "request": request} if request in self._waiting:
                _, answer = self._waiting[request]
                if not answer.done():
                    answer.set_result(False)
            case {"type": "exited", "pid": pid, "status": status}:
                child_gone = self._children.pop(pid, None)
                if child_gone:
                    child_gone.note_end(status)
            case _:
                self._lose(UNEXPECTED)

    def _receive_suite(self, piece: object) -> None:
        try:
            self._offer.add(CatalogueSuite.model_validate(piece))
        except ValidationError as error:
            self._give_up(f"the catalogue of {self._framework} cannot be served: {first_fault(error)}")
        except ValueError as error:
            self._give_up(f"the catalogue of {self._framework} cannot be served: {error}")

    def _lose(self, reason: str) -> None:
        if not self._ready.done():
            failure = f"{self._importing} cannot be imported" if self._greeted.is_set() else "no Python starts"
            if reason in (*UNREADABLE, UNEXPECTED):
                why = f"its messages to the runner cannot be read ({reason})"
            else:
                why = (self.log_tail().strip().splitlines() or [reason])[-1]
            self._give_up(f"{failure} ({why}): {HOW_TO_REPAIR}")
        for _, answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(ChannelLostError(reason))


def environment(variables: Mapping[str, str]) -> dict[str, str]:
    """Make the zygote's environment variables: those of the supervisor and the mark, without secrets.

    Portolan's own folder is removed from PYTHONPATH, because other files in it could hide modules of the framework's
    environment.
    """
    without_secrets = without_own_secrets(variables)
    paths = [path for path in without_secrets.pop("PYTHONPATH", "").split(os.pathsep) if path and Path(path) != PROJECT]
    search_path = {"PYTHONPATH": os.pathsep.join(paths)} if paths else {}
    return {**without_secrets, **search_path, processes.MARK: processes.mark()}


def one_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return " ".join(lines)[:1_000] if lines else json.dumps(text)
