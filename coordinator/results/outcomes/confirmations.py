"""Confirmations of an outcome: the same call was repeated in other ways, each with its result. It does no I/O."""

from __future__ import annotations

from pydantic import BaseModel

from protocol.enums import Repetition
from protocol.outcomes import Evidence

_WAYS = {
    "after_others": "after other cases, in their process",
    "on_host": "on the host",
    "in_graph": "on the host in a graph, without the compiler",
    "in_float32": "on the device in float32",
}
"""The field of the evidence that stores each way, and its words."""
_ENDS = {
    Repetition.passed: "it passed",
    Repetition.failed_alike: "it failed in the same way",
    Repetition.failed_otherwise: "it failed in another way",
}


class Confirmation(BaseModel):
    """One repetition of the outcome's call in another way."""

    way: str
    """How the call was made, in words."""
    end: Repetition
    sentence: str


def confirmations(evidence: Evidence | None, *, has_passed: bool) -> list[Confirmation]:
    """The repetitions of the outcome's call; empty if the call was not repeated.

    If the outcome ``has_passed``, the case may have failed before, in a process that had run other cases.
    """
    repetitions: list[Confirmation] = []
    for field, way in _WAYS.items():
        end: Repetition | None = getattr(evidence, field, None)
        if end is not None:
            end_text = "it failed, and only there" if has_passed else _ENDS[end]
            repetitions.append(Confirmation(way=way, end=end, sentence=f"{way}: {end_text}"))
    return repetitions
