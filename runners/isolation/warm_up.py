"""The rehearsal: the harness's own way through a case, walked once while a child is primed.

A forked child copies every page that it writes to first, and what the harness, NumPy and the
inputs touch is the same for all cases: some 900 pages, 8 ms. Walked here, they are charged
to no case and stand in no cold time. Nothing of any function is called.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from protocol.enums import TimingPolicy
from runners.isolation.harness import run_case
from runners.isolation.observations import as_message
from runners.suite.cases import Function, On
from runners.suite.device import Device


class _NoClock:
    def timing_lock(self) -> AbstractContextManager[float]:
        return nullcontext(0.0)


def rehearse(device: Device) -> None:
    """Run two cases that return what they are given. What comes of them is of no interest."""
    way = Function("rehearsal", reference=_unchanged, prepare=_give_back, alias_of=device.framework)
    way.value("value", lambda make: [make.normal(2, 2), make.integers(3)])
    way.behaviour("behaviour", lambda make: [make.normal(2, 2)], lambda observed, given: None)
    for case in way.cases:
        outcome = run_case(device, case, TimingPolicy.off, _NoClock(), position=0, init_ms=0.0)
        as_message(outcome)


def _give_back(on: On, *arguments: Any) -> Callable[[], Any]:
    return lambda: arguments


def _unchanged(*arguments: Any) -> Any:
    return arguments
