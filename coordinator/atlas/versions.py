"""Versions: since when a function works on a device, as far as versions were charted. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from coordinator.atlas.marks import Mark


@dataclass(frozen=True)
class Observation:
    """The mark of a function under one version; None: it was not charted under it."""

    version: str
    mark: Mark | None


def since(observations: Sequence[Observation]) -> str | None:
    """Since which version the newest mark holds, in a sentence; None where no version was charted.

    ``observations`` are of one device and hardware, the oldest version first. Between two charted versions nothing is
    known, so that a change is given by both.
    """
    marks = [(one.version, one.mark) for one in observations if one.mark is not None]
    if not marks:
        return None
    newest_version, newest = marks[-1]
    if len(marks) == 1:
        return f"{newest} in {newest_version}, the only version that was charted"
    first = len(marks) - 1
    while first and marks[first - 1][1] is newest:
        first -= 1
    if not first:
        return f"{newest} in all {len(marks)} charted versions, {marks[0][0]} to {newest_version}"
    before_version, before = marks[first - 1]
    return (
        f"{newest} since {marks[first][0]} as charted; {before} in {before_version}, "
        "and no version between them was charted"
    )
