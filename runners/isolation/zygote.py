"""The zygote: imports the framework once, never touches its device, and forks children.

The supervisor starts it by ``launch.py`` in the interpreter that has the framework, with one end of a channel. The
zygote sends the catalogue in pieces. Then it forks a child for every request, and reaps and reports children that end.
When the supervisor dies, the zygote kills all its descendants and exits.
"""

from __future__ import annotations

import contextlib
import gc
import os
import select
import signal
import socket
import sys
import traceback
import warnings
from collections.abc import Collection, Sequence
from typing import cast

from runners import frameworks, own_suites
from runners.errors import HOW_TO_REPAIR, FrameworkBrokenError, SuiteError, UnknownFrameworkError
from runners.isolation import numpy_threads, pages, processes
from runners.isolation.channel import Channel, Message
from runners.isolation.observations import printable
from runners.suite import catalogue
from runners.suite.device import Untouched
from runners.suite.framework import Framework


def main(arguments: list[str]) -> int:
    descriptor, framework, device, supervisor, *suites = arguments
    # During the import, the zygote has no children and does not read the channel, so it can simply die.
    processes.die_with_parent(signal.SIGKILL)
    processes.become_subreaper()
    channel = Channel(socket.socket(fileno=int(descriptor)))
    # Only this process may use the channel: no copy of it that a module forks during the import, and no case's process.
    os.register_at_fork(after_in_child=channel.close)
    try:
        _require_own_process(int(supervisor))
        declaration = frameworks.load(framework)
        os.environ.update(frameworks.variables(declaration, device))
        zygote = Zygote(channel, declaration, device, suites)
        _require_own_process(int(supervisor))
        zygote.announce()
    except BaseException as error:
        traceback.print_exc()
        is_ours = isinstance(error, (UnknownFrameworkError, FrameworkBrokenError, SuiteError))
        failure = f"{framework} cannot be imported ({type(error).__name__}: {error}): {HOW_TO_REPAIR}"
        reason = str(error) if is_ours else failure
        misspelt = isinstance(error, UnknownFrameworkError)
        channel.send({"type": "unknown" if misspelt else "broken", "reason": printable(reason)})
        return 1
    processes.die_with_parent(0)
    zygote.serve()
    return 0


def _require_own_process(supervisor: int) -> None:
    """Raise ``FrameworkBrokenError`` if the supervisor has not started this process itself, and so could not end it."""
    if os.getppid() != supervisor:
        raise FrameworkBrokenError(
            "it runs in another process than the one that was started: name the interpreter itself or a script that "
            "execs it, and do not fork during its start"
        )


class Zygote:
    """Holds the imported framework, its device object and all cases. It never touches the device."""

    def __init__(self, channel: Channel, framework: Framework, device: str, paths: Sequence[str]) -> None:
        self._channel = channel
        self._device = frameworks.load_device(framework, device)
        # Before the framework's suites, so that an author of a suite sees its errors without waiting for other imports.
        own = own_suites.load(framework, paths, self._say_importing)
        self._require_untouched(own)
        self._say_importing(framework.name)
        suites = catalogue.suites_of(framework, own)
        self._cases = catalogue.by_id(suites)
        # Before ``gc.freeze``, so that the texts of the catalogue are freed by then.
        for piece in catalogue.pieces(suites):
            channel.send({"type": "suite", "suite": piece})
        # Imported here once, so that no child has to import it.
        from runners.isolation import worker
        from runners.suite import frozen

        frozen.read_arrays()
        numpy_threads.compute_on_one_thread()
        self._live = worker.live
        self._children: set[int] = set()
        self._wakeup, signal_end = os.pipe()
        os.set_blocking(self._wakeup, False)
        os.set_blocking(signal_end, False)
        signal.set_wakeup_fd(signal_end, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        # Python 3.12 warns about threads at a fork. The only threads here belong to native pools and are idle.
        warnings.filterwarnings("ignore", message=".*fork.*", category=DeprecationWarning)
        # All objects that are alive now stay alive. The collector need not visit them, which would copy their pages in
        # every child.
        gc.collect()
        gc.freeze()
        pages.make_huge()

    def _say_importing(self, what: str) -> None:
        """Tell the supervisor what is being imported, so that it can name the module if the import hangs."""
        self._channel.send({"type": "importing", "what": printable(what)})

    def _require_untouched(self, own: Collection[str]) -> None:
        """Raise ``SuiteError`` if importing a suite has opened the device, because forked children would hang."""
        if own and hasattr(self._device, "is_in_use") and cast(Untouched, self._device).is_in_use():
            raise SuiteError(
                f"importing {' or '.join(map(repr, own))} uses the device, so no process can be forked "
                "for its cases; make no array of the framework outside the cases' functions"
            )

    def announce(self) -> None:
        """Tell the supervisor that the framework is imported and children can be forked."""
        self._channel.send({"type": "ready"})

    def serve(self) -> None:
        """Fork and reap children until the supervisor is gone."""
        descriptors: list[int] = [self._channel.fileno(), self._wakeup]
        while True:
            if not self._channel.has_message:
                readable, _, _ = select.select(descriptors, [], [])
                if self._wakeup in readable:
                    with contextlib.suppress(BlockingIOError):
                        os.read(self._wakeup, 4_096)
                    self._reap()
                if self._channel.fileno() not in readable:
                    continue
            message = self._channel.receive()
            if message is None:
                self._kill_all()
                return
            self._fork(message)

    def _fork(self, message: Message) -> None:
        connection_end, *output_ends = self._channel.take_descriptors(3)
        sys.stdout.flush()
        sys.stderr.flush()
        parent = os.getpid()
        pid: int | None
        try:
            pid = os.fork()
        except BlockingIOError:
            # The limit of processes is reached. When a case's dead processes are reaped, forking is possible again.
            pid = None
        if pid == 0:
            os.close(self._wakeup)
            connection = socket.socket(fileno=connection_end)
            self._live(connection, output_ends, message["room"], parent, self._device, self._cases)
        for end in (connection_end, *output_ends):
            os.close(end)
        if pid is None:
            self._channel.send({"type": "refused", "request": message["request"]})
            return
        self._children.add(pid)
        self._channel.send({"type": "forked", "request": message["request"], "pid": pid})

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            # All others are orphans of a case, which this process reaps as their subreaper.
            if pid in self._children:
                self._children.discard(pid)
                self._channel.send({"type": "exited", "pid": pid, "status": status})

    def _kill_all(self) -> None:
        me = os.getpid()
        signal.set_wakeup_fd(-1)
        processes.kill(lambda table: processes.descendants([me], table))
