"""Describes the kinds of input on which a function fails, from its failed and passed cases. It does no I/O."""

from __future__ import annotations

from collections.abc import Collection

from coordinator.figures.formats import join_words
from protocol.enums import InputKind

Combination = str
"""The kinds of one case's inputs as stored in the database: ``empty 0-dim``."""


def failing_inputs(failing: Collection[Combination], passing: Collection[Combination]) -> str | None:
    """A phrase such as ``only on empty and 0-dim input`` or ``on some plain input``. None if no case failed or no case
    passed.

    The phrase says *only* if every failed case has a kind of input that no passed case has.
    """
    wrong, right = [[frozenset(kinds.split()) for kinds in side] for side in (failing, passing)]
    if not wrong or not right:
        return None
    alone = frozenset[str]().union(*wrong) - frozenset[str]().union(*right)
    if all(kinds & alone for kinds in wrong):
        return f"only on {join_words(_cover(wrong, alone))} input"
    return f"on some {join_words(_in_order(frozenset[str]().union(*wrong)))} input"


def _cover(wrong: Collection[frozenset[str]], kinds: frozenset[str]) -> list[str]:
    """A small set of kinds that includes at least one kind of each failed case, chosen greedily."""
    left, cover = list(wrong), set[str]()
    while left:
        best = max(_in_order(kinds - cover), key=lambda kind: sum(kind in case for case in left))
        cover.add(best)
        left = [case for case in left if best not in case]
    return _in_order(cover)


def _in_order(kinds: Collection[str]) -> list[str]:
    return [str(kind) for kind in InputKind if kind in kinds]
