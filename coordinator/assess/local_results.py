"""Results: the local names of one function that hold the results of calls. This module does no I/O.

A result goes to the host if the function only moves it there: ``ids = x.unique()``, and later only ``ids.tolist()``.
The code is read once, from the top to the bottom. If the order of the code leaves a doubt, the result counts as used on
the device.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass


@dataclass
class _Result:
    mentions: tuple[int, ...]
    """The numbers of the mentions of the call."""
    block: tuple[int, ...]
    is_moved: bool = False
    is_used: bool = False
    """Whether the function may use the result without moving it."""


class LocalResults:
    """The results that the local names of one function hold."""

    def __init__(self) -> None:
        self._block: list[int] = []
        self._blocks = 0
        self._loops = 0
        self._held: dict[str, _Result] = {}
        self._finished: list[_Result] = []
        self._names_read: set[str] = set()
        self._shared_names: set[str] = set()

    @property
    def is_in_loop(self) -> bool:
        return self._loops > 0

    def enter_block(self, *, is_loop: bool = False) -> None:
        """Begin a block that runs on a condition, such as the body of an ``if`` or of a loop."""
        self._blocks += 1
        self._block.append(self._blocks)
        self._loops += is_loop

    def leave_block(self, *, is_loop: bool = False) -> None:
        self._block.pop()
        self._loops -= is_loop

    def share(self, names: Iterable[str]) -> None:
        """Record names that other functions may read (``global``, ``nonlocal``)."""
        self._shared_names.update(names)

    def hold(self, names: Iterable[str], mentions: tuple[int, ...]) -> None:
        """Record that names hold the result of a call, or its parts."""
        result = _Result(mentions, tuple(self._block))
        self._finished.append(result)
        for name in names:
            self._held[name] = result
            # In a loop, code above may read the value of the previous pass.
            result.is_used |= name in self._shared_names or (self.is_in_loop and name in self._names_read)

    def bind(self, name: str, *, is_inner: bool = False) -> None:
        """Record that a name gets another value. ``is_inner`` is true for a name of a comprehension."""
        result = self._held.get(name)
        if result is None:
            return
        if is_inner or tuple(self._block) != result.block[: len(self._block)]:
            result.is_used = True  # The name may still hold the result below.
        else:
            del self._held[name]

    def read(self, name: str, *, is_move: bool) -> None:
        """Record that the function reads a name. ``is_move`` says whether the expression that reads the name moves the
        value to the host."""
        if not is_move:
            self._names_read.add(name)
        result = self._held.get(name)
        if result is None:
            return
        if is_move:
            result.is_moved = True
        else:
            result.is_used = True

    def moved_mentions(self) -> Iterator[int]:
        """The mentions whose results the function only moves to the host."""
        for result in self._finished:
            if result.is_moved and not result.is_used:
                yield from result.mentions
