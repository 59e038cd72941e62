"""Starts processes of tests without new imports: they are forked from one process that has imported everything.

A coordinator needs 2.4 s of CPU for imports, and a command 1.9 s. So one server process for each pytest process imports
the modules once. It has a single thread, opens nothing, and is copied by ``fork`` for each process that a test starts.
The copy runs like ``python -m MODULE`` or ``python -c PROGRAM``, with the environment, folder and streams that the test
chose, and its interpreter ends like any other.
"""

from __future__ import annotations

import atexit
import ctypes
import gc
import importlib
import os
import pickle
import pkgutil
import runpy
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

ROOT = Path(__file__).parent.parent
READ_AT_START = ("PYTHON", "LD_", "LC_", "LANG", "MALLOC_", "GLIBC_", "OPENSSL_")
"""Variables that the interpreter or the loader reads at its start. A fork cannot undo their effect."""
ANSWERS_WITHIN_S = 180.0
"""The time limit for the imports and a fork, on a busy machine."""

_HEADER = struct.Struct("!Q")
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True)
class Request:
    """The program, arguments, environment, folder and streams of a process to start. They are bytes, like in the
    kernel, because an argument need not be valid text."""

    arguments: list[bytes]
    variables: dict[bytes, bytes]
    folder: bytes
    umask: int
    new_session: bool
    parent: int


class ForkServer:
    """A process that has imported ``modules``. It is started by the first request, and ends with the pytest process.

    ``package.*`` stands for a package and all its modules, because commands import modules when they are called.
    """

    def __init__(self, *modules: str) -> None:
        self._modules = modules
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._variables: dict[str, str] = {}

    def can_fork(self, command: Sequence[Any], variables: Mapping[str, str] | None) -> bool:
        """Whether a fork would be equal to a new process: same interpreter, started with the same options."""
        if command[0] != sys.executable or command[1] not in ("-m", "-c"):
            return False
        theirs = os.environ if variables is None else variables
        ours = self._variables or os.environ
        return _read_at_start(theirs) == _read_at_start(ours)

    def fork(self, request: Request, streams: Sequence[int]) -> int:
        """Start a process as a child of this process. Returns its id."""
        with self._lock:
            if self._process is None:
                self._start()
            _prctl(_PR_SET_CHILD_SUBREAPER, 1)
            try:
                body = pickle.dumps(request)
                socket.send_fds(self._control, [_HEADER.pack(len(body))], streams)
                self._control.sendall(body)
                (pid,) = _HEADER.unpack(_read(self._control, _HEADER.size))
            finally:
                _prctl(_PR_SET_CHILD_SUBREAPER, 0)
        return int(pid)

    def _start(self) -> None:
        self._control, theirs = socket.socketpair()
        self._control.settimeout(ANSWERS_WITHIN_S)
        with theirs:
            self._variables = {**os.environ, "PYTHONPATH": str(ROOT)}
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.fork_server", str(theirs.fileno()), *self._modules],
                env=self._variables,
                cwd=ROOT,
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
            )
        atexit.register(self._close)

    def _close(self) -> None:
        self._control.close()
        assert self._process is not None
        self._process.wait(10)


COORDINATOR_SERVER = ForkServer("uvicorn.__main__", "coordinator.app", "coordinator.cli.*", "rich.table", "httpx_sse")
"""Forks coordinators and commands."""
RUNNER_SERVER = ForkServer("runners.cli.*", "runners.http.*")
"""Forks supervisors of the hazards. It is a separate server, because a supervisor is small and imports no module of the
coordinator."""


class ForkedProcess(subprocess.Popen[Any]):
    """Like ``Popen``, but the process is forked by a server if there is one and a fork is equal to a new process."""

    def __init__(self, server: ForkServer | None, command: Sequence[str | Path], **options: Any) -> None:
        self._server = server
        super().__init__(command, **options)

    def _execute_child(
        self,
        args: Sequence[Any],
        executable: Any,
        preexec_fn: Any,
        close_fds: bool,
        pass_fds: Sequence[int],
        cwd: Any,
        env: Mapping[str, str] | None,
        *others: Any,
    ) -> None:
        # Popen has no public method that only starts the process. Everything else (pipes, waits, signals) is Popen's.
        _, _, shell, p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite = others[:9]
        *_, umask, new_session, _ = others
        unusual = executable or preexec_fn or pass_fds or shell
        if self._server is None or unusual or not self._server.can_fork(args, env):
            super()._execute_child(args, executable, preexec_fn, close_fds, pass_fds, cwd, env, *others)
            return
        request = Request(
            [os.fsencode(argument) for argument in args[1:]],
            {os.fsencode(name): os.fsencode(value) for name, value in (os.environ if env is None else env).items()},
            os.fsencode(cwd or os.getcwd()),
            umask,
            new_session,
            os.getpid(),
        )
        streams = [inherited if own == -1 else own for inherited, own in enumerate((p2cread, c2pwrite, errwrite))]
        try:
            self.pid = self._server.fork(request, streams)
            self._child_created = True
        finally:
            self._close_pipe_fds(p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite)


def call(
    server: ForkServer | None, command: Sequence[str | Path], variables: Mapping[str, str], stdin: str, limit_s: float
) -> subprocess.CompletedProcess[str]:
    """Like ``subprocess.run``, for a command that a server forks, or that is started as a new process if there is no
    server."""
    with ForkedProcess(
        server,
        command,
        env=variables,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            stdout, stderr = process.communicate(stdin, timeout=limit_s)
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(process.args, process.returncode, stdout, stderr)


def _read_at_start(variables: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in variables.items() if name.startswith(READ_AT_START) and name != "PYTHONPATH"}


def _prctl(option: int, value: int) -> None:
    if _libc.prctl(option, ctypes.c_ulong(value), 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), f"prctl({option})")


def _read(control: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        chunk = control.recv(size - len(data))
        if not chunk:
            raise EOFError("the fork server ended")
        data += chunk
    return bytes(data)


def _serve(control: socket.socket) -> tuple[Request, list[int]] | None:
    """Fork for each request until the requesting process has ended. Returns the request in a fork, None in the
    server."""
    while True:
        header, streams, _, _ = socket.recv_fds(control, _HEADER.size, 3)
        if not header:
            return None
        (size,) = _HEADER.unpack(header)
        request: Request = pickle.loads(_read(control, size))
        pid = _fork(request.parent)
        if not pid:
            control.close()
            return request, streams
        for stream in streams:
            os.close(stream)
        control.sendall(_HEADER.pack(pid))


def _fork(parent: int) -> int:
    """Fork a child of ``parent``. Returns its id, and 0 in the child.

    An intermediate process ends immediately, and its orphan gets the nearest subreaper as its parent. ``parent`` is
    this subreaper during the request. So ``parent`` can wait for the process, gets its exit code, and its CPU time is
    counted.
    """
    read_pid, write_pid = os.pipe()
    read_go, write_go = os.pipe()
    between = os.fork()
    if not between:
        pid = os.fork()
        if pid:
            os.write(write_pid, _HEADER.pack(pid))
            os._exit(0)
        for descriptor in (read_pid, write_pid, write_go):
            os.close(descriptor)
        os.read(read_go, 1)
        os.close(read_go)
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)
        return 0
    os.waitpid(between, 0)
    (pid,) = _HEADER.unpack(os.read(read_pid, _HEADER.size))
    for descriptor in (read_pid, write_pid, read_go, write_go):
        os.close(descriptor)
    return int(pid)


def _become(request: Request, streams: Sequence[int], found_by_default: list[str]) -> None:
    """Give a fork the state that a new process would have."""
    for standard, stream in enumerate(streams):
        os.dup2(stream, standard)
        os.close(stream)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if request.new_session:
        os.setsid()
    if request.umask >= 0:
        os.umask(request.umask)
    os.chdir(request.folder)
    os.environ.clear()
    os.environb.update(request.variables)
    time.tzset()
    tempfile.tempdir = None
    sys.stdin = _reopen(sys.stdin, 0, "r")
    sys.stdout = _reopen(sys.stdout, 1, "w")
    sys.stderr = _reopen(sys.stderr, 2, "w", 1)
    sys.__stdin__, sys.__stdout__, sys.__stderr__ = sys.stdin, sys.stdout, sys.stderr
    first = os.getcwd() if request.arguments[0] == b"-m" else ""
    sys.path[:] = [first, *_python_path(), *found_by_default]
    importlib.invalidate_caches()


def _reopen(stream: TextIO, descriptor: int, mode: str, buffering: int = -1) -> TextIO:
    """Reopen a stream, because its descriptor now leads elsewhere. Whether this is a terminal decides when lines are
    written."""
    return open(descriptor, mode, buffering, stream.encoding, stream.errors, closefd=False)


def _python_path() -> list[str]:
    path = os.environ.get("PYTHONPATH")
    return path.split(os.pathsep) if path else []


def _run(arguments: Sequence[str]) -> None:
    how, program, *others = arguments
    sys.argv = [program if how == "-m" else "-c", *others]
    if how == "-m":
        runpy.run_module(program, run_name="__main__", alter_sys=True)
        return
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    exec(compile(program, "<string>", "exec"), main.__dict__)


def _import(name: str) -> None:
    package = importlib.import_module(name.removesuffix(".*"))
    if name.endswith(".*"):
        for module in pkgutil.iter_modules(package.__path__):
            importlib.import_module(f"{package.__name__}.{module.name}")


def main() -> None:
    descriptor, *modules = sys.argv[1:]
    # Ignore Ctrl-C, which is for the tests. This process ends when they have ended.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    found_by_default = sys.path[1 + len(_python_path()) :]
    for module in modules:
        _import(module)
    threads = os.listdir("/proc/self/task")
    assert len(threads) == 1, f"an import starts threads, which no fork has: {modules}"
    # Exclude imported objects from garbage collection in forks, because a collection would copy their memory pages.
    gc.collect()
    gc.freeze()
    asked = _serve(socket.socket(fileno=int(descriptor)))
    if asked is not None:
        request, streams = asked
        _become(request, streams, found_by_default)
        _run([os.fsdecode(argument) for argument in request.arguments])


if __name__ == "__main__":
    main()
