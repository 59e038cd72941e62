"""The warm-up: the harness runs two empty cases while a child is primed.

A forked child copies every memory page before its first write to it. The harness, NumPy and the inputs write to the
same pages in all cases: about 900 pages, 8 ms. The warm-up copies them early, so that no case's cold time includes
them. It calls no function under test.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from protocol.enums import TimingPolicy
from runners.isolation.harness import run_case
from runners.isolation.observations import as_message
from runners.suite.cases import Context, Function
from runners.suite.device import Device


class _NoClock:
    def timing_lock(self) -> AbstractContextManager[float]:
        return nullcontext(0.0)


def warm_up(device: Device) -> None:
    """Run two cases that return their arguments, and drop the outcomes."""
    empty = Function("warm-up", reference=_return_arguments, prepare=_give_back, alias_of=device.framework)
    empty.value("value", lambda inputs: [inputs.normal(2, 2), inputs.integers(3)])
    empty.behaviour("behaviour", lambda inputs: [inputs.normal(2, 2)], lambda observed, argument: None)
    for case in empty.cases:
        outcome = run_case(device, case, TimingPolicy.off, _NoClock(), position=0, init_ms=0.0)
        as_message(outcome)


def _give_back(context: Context, *arguments: Any) -> Callable[[], Any]:
    return lambda: arguments


def _return_arguments(*arguments: Any) -> Any:
    return arguments
