"""The worker: a forked child that primes its device and runs cases one by one, as the supervisor orders.

This code runs only in the child, and only the child uses the framework's device. The child sends its reports over its
channel. Its output goes to a pipe that the supervisor reads.
"""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import faulthandler
import fcntl
import os
import signal
import socket
import stat
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from time import monotonic, perf_counter  # imported by name, because a case may replace them in the module
from typing import NoReturn, cast

from protocol.enums import Ending, TimingPolicy, Verdict
from runners.errors import ChannelLostError, TimingLockError
from runners.isolation import processes, scratch
from runners.isolation.attribution import accuses, attribute
from runners.isolation.channel import CHANNEL_LOST, Channel, Message, encode
from runners.isolation.explanation import EXPLAINED, explanations
from runners.isolation.first_use import use_first
from runners.isolation.harness import run_case
from runners.isolation.installation import identity, stand_ins
from runners.isolation.lowering import lower_case, lowers
from runners.isolation.observations import (
    Observation,
    as_message,
    as_storable,
    harness_failed,
    make_evidence,
    printable,
)
from runners.isolation.warm_up import warm_up
from runners.suite.cases import Case
from runners.suite.device import Device, DeviceUnavailableError, Sharing

LOCK_VARIABLE = "PORTOLAN_TIMING_LOCK"
DEFAULT_FOLDER = "/tmp/portolan-{}"

_libc = ctypes.CDLL(None)


class Reporter:
    """Reports to the supervisor for the harness while a case runs."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel

    @contextlib.contextmanager
    def timing_lock(self) -> Iterator[float]:
        """Hold the host's timing lock during the block. Yields the wait in ms, which counts for no deadline."""
        try:
            descriptor = _open_lock()
        except OSError as error:
            raise TimingLockError(
                f"the timing lock cannot be opened ({error}): name a file in {LOCK_VARIABLE}"
            ) from error
        try:
            waited_s = 0.0
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                began = monotonic()
                self._channel.send({"type": "waiting", "at": began})
                fcntl.flock(descriptor, fcntl.LOCK_EX)
                now = monotonic()
                self._channel.send({"type": "resumed", "at": now})
                waited_s = (now - began) * 1_000
            yield waited_s
        finally:
            os.close(descriptor)


def _open_lock() -> int:
    """Open the lock file: the file that the variable names, which users may share, or a file in a private folder.

    Links are not followed. Raises ``OSError``.
    """
    lock_path = os.environ.get(LOCK_VARIABLE)
    path = Path(lock_path) if lock_path else _own_folder() / "timing.lock"
    flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
    # First without O_CREAT: in a sticky folder, Linux refuses O_CREAT for another user's file.
    try:
        return os.open(path, flags)
    except FileNotFoundError:
        descriptor = os.open(path, flags | os.O_CREAT, 0o666)
        if lock_path:
            with contextlib.suppress(PermissionError):
                os.fchmod(descriptor, 0o666)
        return descriptor


def _own_folder() -> Path:
    """Create or check the folder ``/tmp/portolan-UID``, which only this user can write to. Raises ``OSError``."""
    folder = Path(DEFAULT_FOLDER.format(os.geteuid()))
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    folder_status = folder.lstat()
    if not stat.S_ISDIR(folder_status.st_mode) or folder_status.st_uid != os.geteuid() or folder_status.st_mode & 0o022:
        raise PermissionError(
            f"{folder} belongs to another user, or others can write to it: set {LOCK_VARIABLE} to a lock file's path"
        )
    return folder


class Worker:
    """Describes and primes the device, and runs case after case until the process is killed."""

    def __init__(
        self, channel: Channel, outputs: Sequence[int], device: Device, cases: Mapping[tuple[str, str], Case]
    ) -> None:
        self._channel = channel
        self._outputs = outputs
        self._device = device
        self._cases = cases
        self._position = 0
        self._init_ms = 0.0

    def serve(self) -> None:
        while (message := self._channel.receive()) is not None:
            kind = message["type"]
            if kind == "describe":
                self._channel.send(self._describe())
            elif kind == "prime":
                self._channel.send(self._prime(message))
            elif kind == "case":
                print_to(self._outputs[self._position % 2])
                self._channel.send({"type": "begun", "at": monotonic()})
                report = self._report(message)
                report_message = {"type": "finished", "at": monotonic(), "outcome": report}
                self._position += 1
                # If another case has arrived, its "begun" message follows at once and takes this one along.
                if self._channel.has_arrived:
                    self._channel.hold(report_message)
                else:
                    self._channel.send(report_message)

    def _describe(self) -> Message:
        try:
            description = {**dataclasses.asdict(self._device.describe()), **identity()}
            description["libraries"] = {**description["libraries"], **stand_ins()}
            description_message = {"type": "described", "description": description}
            encode(description_message)  # raises here for a value that JSON cannot hold, so that it is reported
        except DeviceUnavailableError as error:
            return {"type": "unavailable", "reason": printable(str(error))}
        except Exception as error:
            return {"type": "unavailable", "reason": printable(f"{type(error).__name__}: {error}")}
        return description_message

    def _prime(self, message: Message) -> Message:
        """Prime the device, in the way that the case of the message requires if there is one."""
        threads, own_case = message["threads"], self._cases.get((message.get("suite", ""), message.get("case", "")))
        began = perf_counter()
        try:
            if threads is not None and hasattr(self._device, "share_cores"):
                cast(Sharing, self._device).share_cores(threads)
            if own_case is not None:
                self._init_ms = use_first(self._device, own_case)
                return {"type": "primed", "ms": self._init_ms}
            self._device.prime()
        except Exception as error:
            traceback.print_exc()
            _flush()
            return {
                "type": "unprimed",
                "reason": printable(f"the device could not be primed: {type(error).__name__}: {error}"),
            }
        self._init_ms = (perf_counter() - began) * 1_000
        warm_up(self._device)
        return {"type": "primed", "ms": self._init_ms}

    def _report(self, message: Message) -> Message:
        """Run the case. A failure or fallback is reported before its call is repeated, because that may crash."""
        case = self._cases[message["suite"], message["case"]]
        observation = as_storable(self._run(case, TimingPolicy(message["timing"]), message["timeout_s"]))
        report = as_message(observation)
        _flush()
        if not accuses(observation) or (observation.ending in EXPLAINED and not message["explain"]):
            return report
        self._send_failure(observation)
        with _silence():
            # Each step is reported. If a step ends the process, the results of the earlier steps are kept.
            for explained in explanations(self._device, case, observation):
                observation = explained
                self._send_failure(observation)
            return as_message(attribute(self._device, case, observation))

    def _send_failure(self, observation: Observation) -> None:
        self._channel.send({"type": "failed", "at": monotonic(), "outcome": as_message(observation)})

    def _run(self, case: Case, timing: TimingPolicy, timeout_s: float) -> Observation:
        began = monotonic()
        try:
            report = Reporter(self._channel)
            if lowers(self._device, case):
                return lower_case(self._device, case, report)
            return run_case(
                self._device,
                case,
                timing,
                report,
                position=self._position,
                init_ms=self._init_ms,
                timeout_s=timeout_s,
            )
        except ChannelLostError:
            raise
        except Exception as error:
            # The harness catches what a case raises. So this is an error of the harness itself.
            traceback.print_exc()
            return harness_failed(f"the harness failed: {type(error).__name__}: {error}", monotonic() - began)
        except BaseException as error:
            kind = type(error)
            return Observation(
                verdict=Verdict.failed,
                ending=Ending.raised,
                duration_s=monotonic() - began,
                evidence=make_evidence(
                    exception=f"{kind.__module__}.{kind.__qualname__}", message=str(error), stage="call"
                ),
            )


def print_to(output: int) -> None:
    """Redirect all output of this process from now on."""
    # A case may have closed the pipe. Then its channel is closed too, and the next report fails.
    with contextlib.suppress(OSError):
        os.dup2(output, 1)
        os.dup2(output, 2)


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """Discard output from now on, so that output of the block does not appear in the output of the next case."""
    with contextlib.suppress(OSError):
        nowhere = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
        print_to(nowhere)
        os.close(nowhere)
    yield
    _flush()


def _flush() -> None:
    """Flush every stream. The output must be in the pipe before the outcome is sent."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    _libc.fflush(None)


def live(
    connection: socket.socket,
    outputs: Sequence[int],
    room: str,
    parent: int,
    device: Device,
    cases: Mapping[tuple[str, str], Case],
) -> NoReturn:
    """Run the child after the fork. It ends by ``os._exit``, because the zygote's exit handlers must not run here."""
    code = 1
    try:
        processes.die_with_parent(signal.SIGKILL)
        # Processes that a case leaves behind then stay below this process, apart from those of other slots' cases.
        processes.become_subreaper()
        if os.getppid() != parent:
            os._exit(1)
        os.setsid()
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)
        for output in outputs:
            os.set_inheritable(output, False)
        # The output of priming goes to the pipe that the first case does not use.
        print_to(outputs[-1])
        # ``sys.stderr`` may be another object than descriptor 2, to which native code writes.
        faulthandler.enable(file=2)
        scratch.move_in(room)
        Worker(Channel(connection), outputs, device, cases).serve()
        code = 0
    except ChannelLostError:
        code = CHANNEL_LOST
    except BaseException:
        with contextlib.suppress(BaseException):
            traceback.print_exc()
            _flush()
    finally:
        os._exit(code)
