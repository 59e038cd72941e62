"""Remove frozen cases whose calls corrupt the memory of their process.

python -m freezing.common.corruption FRAMEWORK [CASE…]

A call that writes outside of its arrays can return the right result: its process crashes later, in another call. So the
gate admits the call, and another case is blamed for the crash. This command makes each call of ``library`` many times
in forked processes, so that the damage ends the process that caused it. Then it removes these cases from the files and
lists them as left out. Run it in the framework's environment. The cases named as arguments are not run and stay: name
those whose single call crashes the process on this machine. Other processors use other kernels, so a case that stays
here can corrupt memory elsewhere.
"""

from __future__ import annotations

import os
import signal
import sys
import warnings
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress

from freezing.common.parts import ENDS
from freezing.common.prune import FOLDER, SUITE, case_id, remove_cases
from freezing.common.restart import restart_with
from protocol.enums import RECOMPILED
from runners import frameworks
from runners.isolation.harness import prepared_call
from runners.suite.cases import Case
from runners.suite.device import Device
from runners.suite.frozen import packs_in

MODULE = "freezing.common.corruption"
CALLS = 20
"""Calls of each case. With fewer, damaged memory is often not noticed before the process ends."""
CHECKED_HEAP = {"LD_PRELOAD": "libc_malloc_debug.so.0", "MALLOC_CHECK_": "3"}
"""Variables with which glibc checks a block of memory when it is freed. Without them, a damaged block is often noticed
only after 200 calls."""
GROUP = 100
"""Cases per process."""
LIMIT_S = 1_200
"""The time after which a process is stopped. It counts as one that did not crash."""
CORRUPTS = "repeated calls on the CPU corrupt the memory of their process"
CRASHES = frozenset({signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGSEGV})


def find_corrupting(cases: Sequence[Case], survives: Callable[[Sequence[Case]], bool]) -> list[Case]:
    """Return the cases that crash a process which runs nothing else. Halve each group that crashes its process."""
    if not cases or survives(cases):
        return []
    if len(cases) == 1:
        return list(cases)
    middle = len(cases) // 2
    return [*find_corrupting(cases[:middle], survives), *find_corrupting(cases[middle:], survives)]


def survives(work: Callable[[], object]) -> bool:
    """Do work in a forked process. Return whether the process ended without the signal of a crash."""
    pid = os.fork()
    if pid == 0:
        signal.alarm(LIMIT_S)
        try:
            work()
        finally:
            os._exit(0)
    _, status = os.waitpid(pid, 0)
    return -os.waitstatus_to_exitcode(status) not in CRASHES


def call_all(device: Device, cases: Sequence[Case]) -> None:
    """Make the calls of the cases in a process that has not used the device before."""
    device.prime()
    for case in cases:
        call_repeatedly(device, case)


def call_repeatedly(device: Device, case: Case) -> None:
    """Make the call of a case many times, with new arguments each time. Ignore the errors that it raises."""
    for _ in range(CALLS):
        with suppress(Exception):
            call = prepared_call(device, case)
            if call is not None:
                device.to_host(call())


def remove_corrupting(framework: str, crashing: Collection[str]) -> None:
    """Find the cases of ``library`` that corrupt memory, without the ``crashing`` ones, and remove them."""
    backend = frameworks.load(framework)
    os.environ.update(backend.devices["cpu"].variables)
    device = backend.load_device("cpu")
    cases = [case for case in backend.load_suites()[SUITE].cases if case.id not in crashing]
    corrupting: set[str] = set()
    for first in range(0, len(cases), GROUP):
        group = cases[first : first + GROUP]
        for case in find_corrupting(group, lambda part: survives(lambda: call_all(device, part))):
            # The frozen case of a second shape is the one without the suffix.
            corrupting.add(case.id.removesuffix(f"-{RECOMPILED}"))
        print(f"{first + len(group):,} of {len(cases):,} cases: {', '.join(sorted(corrupting)) or 'none'}", flush=True)
    packs = packs_in(FOLDER / framework / "suites" / SUITE)
    remove_cases(
        framework, packs, lambda frozen_case: CORRUPTS if case_id(frozen_case) in corrupting else None, kind=ENDS
    )


def main(arguments: Sequence[str]) -> int:
    if not arguments:
        print(f"usage: python -m {MODULE} FRAMEWORK [CASE…]", file=sys.stderr)
        return 2
    restart_with(CHECKED_HEAP, MODULE, arguments)
    warnings.simplefilter("ignore")
    remove_corrupting(arguments[0], arguments[1:])
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
