"""The watch over an example that is frozen: Python's audit events that no example of a suite may cause.

``refusal`` is pure. An ``ExampleGuard`` is put up in a process that does nothing else afterwards, because Python
takes no audit hook down again. What compiled code does by itself Python does not see: for that an example is given
an empty folder, and what it leaves there tells.
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
"""Folders from which Python and its packages read what they are made of."""
_BETWEEN = frozenset({tempfile.__file__, "<frozen importlib._bootstrap>", "<frozen importlib._bootstrap_external>"})
"""The files of Python's own code by which a module makes a temporary file, and imports it."""


def refusal(event: str, arguments: Sequence[Any]) -> str | None:
    """The reason why an example that causes an audit event is left out, or None."""
    if event == "import":
        return PLOTS if str(arguments[0]).partition(".")[0] in _PLOTTERS else None
    if event == "open":
        return None if _is_own(arguments[0], arguments[2]) else FILES
    return _EVENTS.get(event)


def _is_own(path: Any, flags: Any) -> bool:
    """Whether a file is opened that belongs to Python or its packages, to be read."""
    if isinstance(path, int) or path is None:
        return True
    name = os.path.realpath(os.fsdecode(path))
    if name == "/dev/null":
        return True
    if isinstance(flags, int) and flags & _WRITES:
        return False
    return any(name == folder or name.startswith(f"{folder}{os.sep}") for folder in _OWN)


class ExampleGuard:
    """Refuses what no example may do, while it is at work, and notes the first reason.

    ``writers`` are the ends of the paths of a framework's modules that write what they make of an example's source
    into a file, and read it: those files are the framework's own.
    """

    def __init__(self, writers: tuple[str, ...] = ()) -> None:
        self.written: set[str] = set()
        """The files of such modules."""
        self._writers = writers
        self._at_work = False
        self._noted: tuple[str, str] | None = None
        sys.addaudithook(self._hear)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Raise ``LeftOutError`` where a refused event is caused, or at the end if the example caught that."""
        self._noted, self._at_work = None, True
        try:
            yield
        finally:
            self._at_work = False
            if self._noted is not None:
                # Whatever the example made of it.
                raise LeftOutError(*self._noted)

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self._at_work:
            return
        # Looking at a path may itself be heard.
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
        """Whether the file is one that a module of ``writers`` writes or has written; if so, it is kept in mind."""
        while frame is not None and frame.f_code.co_filename in _BETWEEN:
            frame = frame.f_back
        if frame is None or not frame.f_code.co_filename.endswith(self._writers):
            return path in self.written
        # The folder is opened, too, where a temporary file is made.
        if not os.path.isdir(path):
            self.written.add(path)
        return True
