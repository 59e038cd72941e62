"""The hazards. Each function really does one bad thing."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import stat
import subprocess
import sys
import tempfile
import time
from typing import Any, NoReturn

import numpy as np


class Unusual(BaseException):
    """An exception that ``except Exception`` does not catch."""


def add(one: Any, other: Any) -> Any:
    return np.add(one, other)


def subtract(one: Any, other: Any) -> Any:
    return np.subtract(one, other)


def one_of(hazard: str, *arguments: Any) -> Any:
    """Call another hazard, so that cases of one function, which share a process, can do different things."""
    return globals()[hazard](*arguments)


def other_of(hazard: str, *arguments: Any) -> Any:
    """Call another hazard, as a different function than ``one_of``."""
    return one_of(hazard, *arguments)


def say(text: str) -> None:
    print(text)
    os.write(1, f"{text}, past every buffer\n".encode())


def process_id(path: str) -> None:
    """Write the id of the process that runs this function."""
    with open(path, "a") as file:
        file.write(f"{os.getpid()}\n")


def nap(seconds: float) -> None:
    time.sleep(seconds)


def not_a_number() -> Any:
    return np.full(3, np.nan)


def measure(samples_ms: list[float], cold_ms: float) -> None:
    """Make the harness measure these samples, and this time in the first call of the next case, like a broken clock."""
    from runners.isolation import timing

    timing.steady = lambda call, wait, **budget: timing.Samples(samples_ms, 1)
    timing.cold = lambda call, wait: (call(), cold_ms)


def end_at(reading: float) -> None:
    """Make the harness read this time from its clock when the case ends."""
    from runners.isolation import harness

    harness.monotonic = lambda: reading


def freeze(reading: float) -> None:
    """Freeze time like a testing library does, without undoing it."""
    for name in ("time", "monotonic", "perf_counter"):
        setattr(time, name, lambda: reading)


def report(line: str) -> NoReturn:
    """Send a message on the child's channel to the supervisor."""
    for descriptor in map(int, os.listdir("/proc/self/fd")):
        with contextlib.suppress(OSError):
            if stat.S_ISSOCK(os.fstat(descriptor).st_mode):
                os.write(descriptor, f"{line}\n".encode())
    hang()


def fail(message: str) -> NoReturn:
    raise RuntimeError(message)


def fail_then(hazard: str) -> NoReturn:
    """Fails in the first call, and does worse in the second."""
    if hazard in _FAILED:
        globals()[hazard]()
    _FAILED.add(hazard)
    raise RuntimeError("the first time")


_FAILED: set[str] = set()


def leave_behind() -> None:
    """Leave something in the process that makes later cases fail."""
    _LEFT_BEHIND.append("something")


def stumble() -> None:
    """Fails only if an earlier case of the process has left something."""
    if _LEFT_BEHIND:
        raise RuntimeError(f"stumbled over {_LEFT_BEHIND[0]}")


def stumble_and_die() -> None:
    if _LEFT_BEHIND:
        kill_itself()


def stumble_and_hang() -> None:
    if _LEFT_BEHIND:
        hang()


def stumble_or_fail() -> NoReturn:
    stumble()
    raise ValueError("nothing was left, and it fails all the same")


def stumble_late(path: str) -> None:
    """If an earlier case has left something, fails when most of its time has passed. Alone, it takes longer than the
    remaining time."""
    process_id(path)
    time.sleep(1.5)
    stumble()
    time.sleep(5)


_LEFT_BEHIND: list[str] = []


def fail_with_odd_text() -> NoReturn:
    raise ValueError("a NUL \0 and a lone surrogate \ud800 in the message")


def fail_with_base_exception() -> NoReturn:
    raise Unusual("not an Exception")


def leave_by_sys_exit() -> NoReturn:
    sys.exit(0)


def leave_by_os_exit(code: int) -> NoReturn:
    os._exit(code)


def hang() -> NoReturn:
    while True:
        time.sleep(3_600)


def hang_holding_the_gil() -> None:
    ctypes.PyDLL(None).sleep(3_600)


def hang_ignoring_signals() -> NoReturn:
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        try:
            signal.signal(number, signal.SIG_IGN)
        except OSError:
            continue
    hang()


def stop_itself() -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


def segfault() -> None:
    ctypes.string_at(0)


def kill_itself() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def kill_parent() -> None:
    os.kill(os.getppid(), signal.SIGKILL)
    hang()


def eat_memory() -> NoReturn:
    held = []
    while True:
        held.append(np.ones(1 << 22))
        time.sleep(0.005)


def hold_memory(bytes_: int) -> None:
    """Holds this much memory long enough to be noticed, and then releases it."""
    held = np.ones(bytes_ // 8)
    time.sleep(1.5)
    del held


def leave_files(path: str) -> None:
    """Leaves temporary files, some of them read-only, and writes their paths to the note."""
    folder = tempfile.mkdtemp()
    with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
        file.write(bytes(1 << 20))
    os.chmod(file.name, 0o400)
    with open(path, "a") as note:
        print(folder, tempfile.gettempdir(), os.environ["TMPDIR"], file=note)


def leave_files_and_die(path: str) -> None:
    leave_files(path)
    kill_itself()


def fill_disk() -> NoReturn:
    with tempfile.NamedTemporaryFile(delete=False) as file:
        while True:
            file.write(bytes(1 << 24))


def leave_children(path: str) -> None:
    """Leaves detached children of two kinds: an orphan of an orphan, and a program in its own session."""
    command = f"echo $$ >> {path}; exec sleep 3600"
    subprocess.Popen(["sh", "-c", command], start_new_session=True, env={})
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            process_id(path)
            hang()
        os._exit(0)
    while not os.path.exists(path) or len(open(path).readlines()) < 2:  # noqa: SIM115
        time.sleep(0.01)


def leave_children_and_hang(path: str) -> NoReturn:
    leave_children(path)
    hang()


def fork_many(path: str) -> NoReturn:
    """Forks as fast as possible, as does each child, up to a few hundred processes at a time."""
    while True:
        if len(os.listdir("/proc")) < 400:
            if os.fork() == 0:
                os.setsid()
        else:
            time.sleep(0.001)


def print_much(bytes_: int) -> None:
    line = b"x" * 1_023 + b"\n"
    block = line * 1_024
    for _ in range(bytes_ // len(block)):
        os.write(1, block)
    os.write(2, b"the last line\n")


def print_everywhere() -> None:
    print("from print")
    os.write(1, b"from descriptor 1\n")
    os.write(2, b"from descriptor 2\n")
    ctypes.CDLL(None).puts(b"from C")


def close_descriptors() -> None:
    os.closerange(3, 4_096)


def replace_descriptors(path: str) -> None:
    """Closes all descriptors and opens files in their place, so that later writes go to the wrong file."""
    os.closerange(0, 4_096)
    for _ in range(16):
        os.open(path, os.O_RDWR | os.O_CREAT)
