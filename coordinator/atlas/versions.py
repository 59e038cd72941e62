"""Versions: the charted version since which a function works on a device. This module does no I/O."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from coordinator.atlas.marks import Mark, mark_words


@dataclass(frozen=True)
class VersionMark:
    """The mark of a function in one version of its framework. The mark is None if the function was not charted in this
    version."""

    version: str
    mark: Mark | None


@dataclass(frozen=True)
class Span:
    """Consecutive charted versions with the same mark of a function on one device and hardware.

    Versions that were not charted are unknown. If the mark changed between two charted versions, any version between
    the two may have changed it.
    """

    mark: Mark
    versions: tuple[str, ...]
    """The charted versions, oldest first."""
    since_after: str | None
    """The previous charted version, which has another mark; None if no older version was charted."""
    until_before: str | None
    """The next charted version, which has another mark; None if no newer version was charted."""

    @property
    def since(self) -> str:
        return self.versions[0]

    @property
    def until(self) -> str:
        return self.versions[-1]


def spans(observations: Sequence[VersionMark]) -> tuple[Span, ...]:
    """The spans of a function, the oldest first. A version in which the function was not charted is in no span.

    ``observations`` are for one device and hardware, ordered from the oldest version to the newest.
    """
    charted_marks = [(one.version, one.mark) for one in observations if one.mark is not None]
    rows = [(mark, [version for version, _ in same]) for mark, same in groupby(charted_marks, key=lambda one: one[1])]
    return tuple(
        Span(
            mark,
            tuple(versions),
            since_after=rows[place - 1][1][-1] if place else None,
            until_before=rows[place + 1][1][0] if place + 1 < len(rows) else None,
        )
        for place, (mark, versions) in enumerate(rows)
    )


def since(history: Sequence[Span], *, is_lowered: bool = False) -> str | None:
    """A sentence about the version since which the newest mark holds; None if no version was charted."""
    if not history:
        return None
    newest = history[-1]
    mark = mark_words(newest.mark, is_lowered=is_lowered)
    if len(history) > 1:
        before = mark_words(history[-2].mark, is_lowered=is_lowered)
        return (
            f"{mark} since {newest.since} as charted; {before} in {newest.since_after}, "
            "and no version between them was charted"
        )
    if len(newest.versions) == 1:
        return f"{mark} in {newest.since}, the only version that was charted"
    return f"{mark} in all {len(newest.versions)} charted versions, {newest.since} to {newest.until}"
