"""Changes from one publication to the next: targets, functions and marks that came or went. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pydantic import BaseModel

from coordinator.atlas.marks import Mark
from coordinator.atlas.portability import Portability


class MarkChange(BaseModel):
    """A function whose mark on a target is another one; null: not charted."""

    function: str
    target: str
    hardware: str
    before: Mark | None
    after: Mark | None


class Changes(BaseModel):
    """The changes of a framework's published data."""

    framework: str
    targets_added: list[str]
    targets_removed: list[str]
    functions_added: list[str]
    functions_removed: list[str]
    marks: list[MarkChange]
    """Of targets and functions that both publications have."""

    @property
    def is_empty(self) -> bool:
        lists = (self.targets_added, self.targets_removed, self.functions_added, self.functions_removed, self.marks)
        return not any(lists)


def changes(before: Portability, after: Portability) -> Changes:
    """Compare two publications of one framework."""
    old_targets, new_targets = _targets(before), _targets(after)
    old, new = before.functions.keys(), after.functions.keys()
    return Changes(
        framework=after.framework,
        targets_added=sorted(_named(place) for place in new_targets.keys() - old_targets.keys()),
        targets_removed=sorted(_named(place) for place in old_targets.keys() - new_targets.keys()),
        functions_added=sorted(new - old),
        functions_removed=sorted(old - new),
        marks=list(_marks(before, after, old_targets, new_targets)),
    )


_Place = tuple[str, str]
"""A target and its hardware."""


def _targets(document: Portability) -> Mapping[_Place, int]:
    return {(target.target, target.hardware): number for number, target in enumerate(document.targets)}


def _named(place: _Place) -> str:
    return " on ".join(place)


def _marks(
    before: Portability, after: Portability, old_targets: Mapping[_Place, int], new_targets: Mapping[_Place, int]
) -> Iterator[MarkChange]:
    shared = sorted(old_targets.keys() & new_targets.keys())
    for name in sorted(before.functions.keys() & after.functions.keys()):
        old, new = ({cell.target: cell.mark for cell in document.functions[name].cells} for document in (before, after))
        for place in shared:
            was, became = old.get(old_targets[place]), new.get(new_targets[place])
            if was is not became:
                yield MarkChange(function=name, target=place[0], hardware=place[1], before=was, after=became)
