"""Decides whether two failures of one call are the same failure. Pure.

Children compare observations and the supervisor compares outcomes. ``Failure`` has the fields that both have.
"""

from __future__ import annotations

import re
from typing import Protocol


class Failure(Protocol):
    """The compared parts of a failure's evidence."""

    @property
    def exception(self) -> str | None: ...

    @property
    def message(self) -> str | None: ...

    @property
    def mismatch(self) -> str | None: ...


def are_alike(one: Failure, other: Failure) -> bool:
    """Whether two failures are equal except for names of devices, addresses and generated names in their texts."""
    if one.exception != other.exception:
        return False
    if one.exception is None:
        return one.mismatch == other.mismatch
    first, second = _words(one.message or ""), _words(other.message or "")
    return first == second or bool(first and second and (first.endswith(second) or second.endswith(first)))


def _words(message: str) -> str:
    text = _INCIDENTAL.sub("", message)
    return " ".join(_DEVICE.sub("device", text).split()).rstrip(". ")


_INCIDENTAL = re.compile(
    # AutoGraph writes a trace of the converted code before an error. The trace may contain Portolan's watch.
    r"\Ain user code:\n\n(?s:.*?)\n\n"
    # TensorFlow's generated names, the operation it appends, and the trace of where it was made.
    r"|\{\{[^{}]*\}\}|\[Op:[^\]]*\]( name: ?\S*)?|\[\[[^\[\]]*\]\]|0x[0-9a-fA-F]+"
    r"|(?<=compile graph )[^\s\[\]]+(\[[^\[\]]*\])?|__(inference|forward|backward)_\w+"
    r"|(?<=\])\([\w/:, ]*\)(?=' with input shapes)"
    r"|\n\nStack trace for op definition(?s:.*)|\nThe op is created at:(?s:.*)|\nException raised from (?s:.*)"
    # Protocol buffers print this in one of several forms, chosen at random so that nobody relies on it.
    r"|goo\.gle/debug\w+"
)
_DEVICE = re.compile(r"(?i)(/job:\w+/replica:\d+/task:\d+/)?(device:)?\b(xla_cpu_jit|xla|cpu|cuda|gpu|tpu)(:\d+)?\b")
