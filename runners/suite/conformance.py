"""The conformance suite: cases whose behavior is known in advance.

Every runner in this repository offers the suite in addition to its framework's suites, so that ``portolan runner
check`` can test the runner API: that the runner kills hanging cases, counts output, and so on. The cases use no
framework and no device. A campaign runs the suite only if you name it.
"""

from __future__ import annotations

import os
import time
from typing import Any, NoReturn

from protocol.enums import ConformanceTag
from runners.suite.cases import Function

SLOW_S = 1.2
"""The duration of one call. The runner calls a case's function twice: the second call checks where it runs."""
PRINTED = 1_280 << 10
LAST_LINE = b"conformance: the end\n"


def return_at_once() -> None:
    """Pass at once."""


def take_seconds() -> None:
    time.sleep(SLOW_S)


def hang() -> NoReturn:
    while True:
        time.sleep(3_600)


def print_much() -> None:
    left = PRINTED
    line = b"." * 1_023 + b"\n"
    while left > 0:
        left -= os.write(1, line)
    os.write(1, LAST_LINE)


def _returned_nothing(observed: Any) -> None:
    assert observed is None


def _function(name: ConformanceTag, call: Any) -> Function:
    function = Function(
        f"conformance.{name.name}",
        given=call,
        # Not compiled, even if the device compiles every call: the case tests no computation.
        prepare=lambda context: context.function,
        host_only="it is the runner's own and touches no device",
    )
    function.behaviour("0", lambda inputs: [], _returned_nothing, tags=[name])
    return function


FUNCTIONS = [
    _function(ConformanceTag.passes, return_at_once),
    _function(ConformanceTag.slow, take_seconds),
    _function(ConformanceTag.hangs, hang),
    _function(ConformanceTag.prints, print_much),
]
