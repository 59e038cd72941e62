"""Iterates over sequences in step. Written for Python 3.9, because a framework's interpreter may be that old."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

_END: Any = object()


def aligned(*sequences: Iterable[Any]) -> Iterator[Any]:
    """Like ``zip(strict=True)``: raise ``ValueError`` if the sequences have different lengths."""
    iterators = [iter(sequence) for sequence in sequences]
    while True:
        members = tuple(next(iterator, _END) for iterator in iterators)
        ended = sum(member is _END for member in members)
        if ended == len(members):
            return
        if ended:
            raise ValueError("sequences that belong together have different lengths")
        yield members


def pairs(sequence: Iterable[Any]) -> Iterator[Any]:
    """Return each member with the next one, like ``itertools.pairwise``."""
    members = list(sequence)
    return zip(members, members[1:])
