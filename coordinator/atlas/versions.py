"""Versions: since when a function works on a device, as far as versions were charted. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from coordinator.atlas.marks import Mark


@dataclass(frozen=True)
class VersionMark:
    """The mark of a function under one version; None: it was not charted under it."""

    version: str
    mark: Mark | None


@dataclass(frozen=True)
class Span:
    """Charted versions in a row, on one device and hardware, under which a function has the same mark.

    Between two charted versions nothing is known, so that a change is somewhere between its two bounds.
    """

    mark: Mark
    versions: tuple[str, ...]
    """The charted ones, the oldest first."""
    since_after: str | None
    """The charted version before, under which the mark is another; None: no older one was charted."""
    until_before: str | None
    """The charted version after, likewise; None: no newer one was charted."""

    @property
    def since(self) -> str:
        return self.versions[0]

    @property
    def until(self) -> str:
        return self.versions[-1]


def spans(observations: Sequence[VersionMark]) -> tuple[Span, ...]:
    """The spans of a function, the oldest first; versions under which it was not charted are in none.

    ``observations`` are of one device and hardware, the oldest version first.
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


def since(history: Sequence[Span]) -> str | None:
    """Since which version the newest mark holds, in a sentence; None where no version was charted."""
    if not history:
        return None
    newest = history[-1]
    if len(history) > 1:
        before = history[-2].mark
        return (
            f"{newest.mark} since {newest.since} as charted; {before} in {newest.since_after}, "
            "and no version between them was charted"
        )
    if len(newest.versions) == 1:
        return f"{newest.mark} in {newest.since}, the only version that was charted"
    return f"{newest.mark} in all {len(newest.versions)} charted versions, {newest.since} to {newest.until}"
