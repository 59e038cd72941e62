"""Stop an example that opens files or sockets, starts processes, plots or asks for input, by Python's audit events.

``refusal`` is pure. Make an ``ExampleGuard`` only in a process that runs nothing but the example, because Python cannot
remove an audit hook. Compiled code causes no audit events. Therefore an example runs in an empty folder, and files that
it leaves there are detected afterwards.
"""

from __future__ import annotations

import os
import sys
import sysconfig
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any

from runners.errors import LeftOutError

FILES = "opens files"
SOCKETS = "opens sockets"
PROCESSES = "starts or signals processes"
PLOTS = "plots"
ASKS = "asks for input"

_EVENTS = {
    **dict.fromkeys(("socket.__new__", "socket.connect", "socket.bind", "socket.getaddrinfo"), SOCKETS),
    **dict.fromkeys(("socket.gethostbyname", "socket.sendto", "urllib.Request", "webbrowser.open"), SOCKETS),
    **dict.fromkeys(("os.fork", "os.forkpty", "os.exec", "os.posix_spawn", "os.spawn", "os.system"), PROCESSES),
    **dict.fromkeys(("subprocess.Popen", "pty.spawn", "os.kill", "os.killpg"), PROCESSES),
    **dict.fromkeys(("os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.truncate", "os.link"), FILES),
    **dict.fromkeys(("os.symlink", "os.chmod", "tempfile.mkstemp", "tempfile.mkdtemp", "shutil.rmtree"), FILES),
    "builtins.input": ASKS,
}
_PLOTTERS = frozenset({"IPython", "graphviz", "matplotlib", "plotly", "pydot", "seaborn", "tkinter"})
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_PROJECT = os.path.abspath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 2))
_OWN = tuple(
    {
        *(os.path.realpath(path) for path in sysconfig.get_paths().values()),
        *(os.path.realpath(path) for path in (sys.prefix, sys.base_prefix, _PROJECT)),
        *("/proc", "/sys", "/usr/lib", "/usr/share/zoneinfo", "/dev/null", "/dev/urandom", "/etc/localtime"),
    }
)
"""Folders and files that Python and its packages may read: their own code and data, and a few of the system's."""
_IMPORT_FILES = frozenset(
    {tempfile.__file__, "<frozen importlib._bootstrap>", "<frozen importlib._bootstrap_external>"}
)
"""The files of Python's own code that are on the call stack while a module makes a temporary file or imports one."""


def refusal(event: str, arguments: Sequence[Any]) -> str | None:
    """Return the reason to leave out an example that causes this audit event, or None if the event is allowed."""
    if event == "import":
        return PLOTS if str(arguments[0]).partition(".")[0] in _PLOTTERS else None
    if event == "open":
        return None if _is_own(arguments[0], arguments[2]) else FILES
    return _EVENTS.get(event)


def _is_own(path: Any, flags: Any) -> bool:
    """Whether ``open`` only reads a file of Python or its packages, or opens a descriptor or ``/dev/null``."""
    if isinstance(path, int) or path is None:
        return True
    name = os.path.realpath(os.fsdecode(path))
    if name == "/dev/null":
        return True
    if isinstance(flags, int) and flags & _WRITES:
        return False
    return any(name == folder or name.startswith(f"{folder}{os.sep}") for folder in _OWN)


class ExampleGuard:
    """Refuses forbidden audit events while an example runs, and keeps the first reason.

    ``writers`` are path endings of modules of the framework that write code generated from an example into a file and
    read it. Files that these modules open are allowed.
    """

    def __init__(self, writers: tuple[str, ...] = ()) -> None:
        self.written: set[str] = set()
        """The files that the modules of ``writers`` opened."""
        self._writers = writers
        self._at_work = False
        self._noted: tuple[str, str] | None = None
        sys.addaudithook(self._hear)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Raise ``LeftOutError`` at a forbidden event, and again at the end if the example caught the first one."""
        self._noted, self._at_work = None, True
        try:
            yield
        finally:
            self._at_work = False
            if self._noted is not None:
                # The example may have caught the error of the hook.
                raise LeftOutError(*self._noted)

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self._at_work:
            return
        # Resolving a path may cause audit events itself.
        self._at_work = False
        try:
            reason = refusal(event, arguments)
            if reason == FILES and self._notes_written(os.path.realpath(os.fsdecode(arguments[0])), sys._getframe(1)):
                reason = None
        finally:
            self._at_work = True
        if reason is not None:
            self._noted = self._noted or (reason, f"{event} {' '.join(map(str, arguments[:1]))}"[:120])
            raise LeftOutError(*self._noted)

    def _notes_written(self, path: str, frame: FrameType | None) -> bool:
        """Whether a module of ``writers`` opens this file or opened it before. Remember its path in ``written``."""
        while frame is not None and frame.f_code.co_filename in _IMPORT_FILES:
            frame = frame.f_back
        if frame is None or not frame.f_code.co_filename.endswith(self._writers):
            return path in self.written
        # ``tempfile`` also opens the folder of a temporary file.
        if not os.path.isdir(path):
            self.written.add(path)
        return True
