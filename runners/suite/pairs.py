"""Pairs: two public functions in one program, the second of which is called with what the first returns.

The written call of a pair is that of its second function, and beside it has the first one: its name and its call. The
arrays of both are numbered together, and the number after the last one stands for the result of the first.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from runners.suite.trees import mapped

FIRST = "first"
"""The key of a pair's written call under which the first function and its call stand."""


@dataclass(frozen=True)
class FirstCall:
    """The call of a pair's first function, by its public name."""

    function: str
    written: str


class FirstResult:
    """It stands in the arguments of a second call for the result of the first, until that is there."""


FIRST_RESULT = FirstResult()


def first_of(written: str) -> FirstCall:
    """The first call of a written pair."""
    function, call = json.loads(written)[FIRST]
    return FirstCall(function, json.dumps(call, separators=(",", ":")))


def with_result(parts: Any, result: Any) -> Any:
    """The arguments of the second call with the first one's result in its place."""
    return mapped(parts, lambda _: result, FirstResult)
