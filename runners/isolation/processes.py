"""Finds descendants of processes, measures their memory, and kills them.

This module reads ``/proc`` and sends signals. It does not depend on cases or frameworks. The supervisor and the zygote
are both *subreapers*: every process that a case leaves behind becomes a child of one of them, even after ``setsid``.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

MARK = "PORTOLAN_RUNNER_PROCESS"
"""The environment variable that names the supervisor in every process below a runner."""
KILL_LIMIT_S = 10.0
FREEZING_ROUNDS = 5
MEASURED = 128

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_libc = ctypes.CDLL(None, use_errno=True)
_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class Process:
    """An entry of the process table. A pid may be reused, but the pair of ``pid`` and ``started`` is unique."""

    pid: int
    parent: int
    state: str
    started: int

    @property
    def alive(self) -> bool:
        return self.state not in "ZX"


def become_subreaper() -> None:
    """Make this process adopt orphans among its descendants, which init would adopt otherwise."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def die_with_parent(sig: int) -> None:
    """Let the kernel send ``sig`` to this process when the thread that forked it ends; 0 turns this off."""
    _prctl(_PR_SET_PDEATHSIG, sig)


def _prctl(option: int, value: int) -> None:
    if _libc.prctl(option, ctypes.c_ulong(value), 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), f"prctl({option}) failed; use Linux 3.4 or later")


def look(pid: int) -> Process | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            stat = file.read()
    except OSError:
        return None
    # The name is in parentheses and may itself contain parentheses, so the fields after the last one are read.
    fields = stat[stat.rindex(b")") + 2 :].split()
    return Process(pid, int(fields[1]), fields[0].decode(), int(fields[19]))


def snapshot() -> dict[int, Process]:
    """Return every visible process. The list is not read atomically: check a process again before you signal it."""
    processes = (look(int(name)) for name in os.listdir("/proc") if name.isdigit())
    return {process.pid: process for process in processes if process}


def descendants(roots: Collection[int], among: Mapping[int, Process]) -> list[Process]:
    """Return the existing processes among ``roots``, and all their descendants."""
    children: dict[int, list[Process]] = {}
    for process in among.values():
        children.setdefault(process.parent, []).append(process)
    family = {pid: among[pid] for pid in roots if pid in among}
    frontier = list(family.values())
    while frontier:
        for child in children.get(frontier.pop().pid, ()):
            if child.pid not in family:
                family[child.pid] = child
                frontier.append(child)
    return list(family.values())


class PidCounter:
    """Reads the newest pid of the machine. While it stays the same, no process or thread has been started.

    The file stays open, because opening it takes ten times as long as reading it. Some kernels have no such file.
    """

    def __init__(self, path: str = "/proc/sys/kernel/ns_last_pid") -> None:
        try:
            self._descriptor: int | None = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            self._descriptor = None

    def read(self) -> int | None:
        """Return the newest pid; None if this kernel has no such file."""
        if self._descriptor is None:
            return None
        try:
            return int(os.pread(self._descriptor, 32, 0))
        except (OSError, ValueError):
            return None

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def children(pid: int) -> set[int]:
    """Return the pids of a process's children, alive or not yet reaped. Faster than a snapshot."""
    pids: set[int] = set()
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children", "rb") as file:
                pids.update(int(child) for child in file.read().split())
    except FileNotFoundError:
        # A kernel without this file, or a process that has just ended.
        return {process.pid for process in snapshot().values() if process.parent == pid}
    except OSError:
        return pids
    return pids


def send(process: Process, sig: int) -> bool:
    """Send a signal to exactly this process. Returns False if it has ended.

    The process is checked after its pidfd was opened, so that a new process with the same pid never gets the signal.
    """
    if not hasattr(os, "pidfd_open"):
        # This Python was built for older kernels. Between the check and the signal, the pid may be reused.
        return _send_by_pid(process, sig)
    try:
        descriptor = os.pidfd_open(process.pid)
    except OSError:
        return False
    try:
        again = look(process.pid)
        if again is None or again.started != process.started:
            return False
        signal.pidfd_send_signal(descriptor, sig)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True


def _send_by_pid(process: Process, sig: int) -> bool:
    again = look(process.pid)
    if again is None or again.started != process.started:
        return False
    try:
        os.kill(process.pid, sig)
    except OSError:
        return False
    return True


def kill(find: Callable[[Mapping[int, Process]], Iterable[Process]], limit_s: float = KILL_LIMIT_S) -> bool:
    """Kill the processes that ``find`` returns until none of them is alive. Returns False if the time was too short.

    All processes are stopped before the first is killed, so that none can start another when a relative dies. If
    processes fork faster than they are stopped, all of them are killed after ``FREEZING_ROUNDS`` rounds.
    """
    with _ahead_of_others():
        end = time.monotonic() + limit_s
        stopped_processes: set[tuple[int, int]] = set()
        rounds = 0
        while time.monotonic() < end:
            living = [process for process in find(snapshot()) if process.alive and process.pid != os.getpid()]
            if not living:
                return True
            rounds += 1
            fresh = [process for process in living if (process.pid, process.started) not in stopped_processes]
            if fresh and rounds <= FREEZING_ROUNDS:
                stopped_processes.update(
                    (process.pid, process.started) for process in fresh if send(process, signal.SIGSTOP)
                )
                continue
            for process in living:
                send(process, signal.SIGKILL)
            time.sleep(0.002)
        return False


def bury(except_pid: int) -> None:
    """Reap the dead children of this process, except one for which other code waits."""
    me = os.getpid()
    for process in snapshot().values():
        if process.parent == me and not process.alive and process.pid != except_pid:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(process.pid, os.WNOHANG)


@contextlib.contextmanager
def _ahead_of_others() -> Iterator[None]:
    """Give this thread real-time priority if allowed: beside a fork bomb, its normal share of a core is almost zero."""
    before = os.sched_getscheduler(0)
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    except PermissionError:
        yield
        return
    try:
        yield
    finally:
        os.sched_setscheduler(0, before, os.sched_param(0))


def resident(pid: int) -> int:
    """Return the resident bytes of a process. Shared pages count in full."""
    try:
        with open(f"/proc/{pid}/statm", "rb") as file:
            return int(file.read().split()[1]) * _PAGE
    except (OSError, IndexError):
        return 0


def proportional(pid: int) -> int:
    """Return the resident bytes of a process, with each shared page divided among its users. Exact, but slow."""
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return resident(pid)
    return sum(int(line.split()[1]) * 1024 for line in text.splitlines() if line.startswith("Pss:"))


def hold_more_than(limit: int, root: int) -> bool:
    """Whether a process and its descendants together use more than ``limit`` bytes of memory.

    Forked processes share most pages, so the sum of their sizes is only an upper bound. If it exceeds the limit, the
    ``MEASURED`` largest processes are measured exactly.
    """
    resident_bytes = {process.pid: resident(process.pid) for process in descendants([root], snapshot())}
    if sum(resident_bytes.values()) <= limit:
        return False
    largest = sorted(resident_bytes, key=lambda pid: resident_bytes[pid], reverse=True)[:MEASURED]
    return sum(map(proportional, largest)) > limit


def mark() -> str:
    """Return the value of ``MARK`` for processes below this one: its pid, start time and pid namespace."""
    me = look(os.getpid())
    assert me is not None
    return f"{me.pid}.{me.started}.{os.stat('/proc/self/ns/pid').st_ino}"


def mark_of(pid: int) -> str | None:
    """Return the mark with which a process was started; None if it has none or cannot be read."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            environment = file.read()
    except OSError:
        return None
    start = f"{MARK}=".encode()
    for entry in environment.split(b"\0"):
        if entry.startswith(start):
            return entry[len(start) :].decode(errors="replace")
    return None


def kill_orphans() -> int:
    """Kill the processes that dead runners left on this machine. Returns their number.

    This is needed only if supervisor and zygote died at the same moment. Otherwise, one cleans up after the other.
    """
    dead: set[tuple[int, int]] = set()

    def orphans(table: Mapping[int, Process]) -> list[Process]:
        abandoned_processes = [process for process in table.values() if is_abandoned(mark_of(process.pid), table)]
        dead.update((process.pid, process.started) for process in abandoned_processes)
        return abandoned_processes

    kill(orphans)
    return len(dead)


def is_abandoned(mark: str | None, table: Mapping[int, Process]) -> bool:
    """Whether a mark is of this pid namespace, and its supervisor is dead."""
    owner = (mark or "").split(".")
    if len(owner) != 3 or not owner[0].isdigit() or owner[2] != str(os.stat("/proc/self/ns/pid").st_ino):
        return False
    supervisor = table.get(int(owner[0]))
    return supervisor is None or str(supervisor.started) != owner[1] or not supervisor.alive
