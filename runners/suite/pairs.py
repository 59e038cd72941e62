"""Pairs: two public functions in one program. The second function is called with the result of the first.

The written call of a pair is the call of the second function. It also holds the name and the call of the first function
(under the key ``FIRST``). The arrays of both calls are numbered together; the number after the last one stands for the
result of the first function.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from runners.suite.trees import mapped

FIRST = "first"
"""The key in a pair's written call that holds the first function and its call."""


@dataclass(frozen=True)
class FirstCall:
    """The call of a pair's first function, by its public name."""

    function: str
    written: str


class FirstResult:
    """A placeholder in the arguments of the second call for the result of the first call."""


FIRST_RESULT = FirstResult()


def first_of(written: str) -> FirstCall:
    """Read the first call of a written pair."""
    function, call = json.loads(written)[FIRST]
    return FirstCall(function, json.dumps(call, separators=(",", ":")))


def with_result(parts: Any, result: Any) -> Any:
    """Replace the placeholder in the arguments of the second call with the result of the first call."""
    return mapped(parts, lambda _: result, FirstResult)
