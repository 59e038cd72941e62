"""Changes between two publications, or between two charted versions: added functions, removed functions, and different
marks. This module does no I/O."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pydantic import BaseModel

from coordinator.atlas.marks import Mark
from coordinator.atlas.overview import Atlas, FrameworkOverview, TargetColumn
from coordinator.atlas.portability import Portability


class MarkChange(BaseModel):
    """A function whose mark on a target changed. A null mark means that the function was not charted."""

    function: str
    target: str
    hardware: str
    before: Mark | None
    after: Mark | None


class Changes(BaseModel):
    """The changes from one publication of a framework to another."""

    framework: str
    targets_added: list[str]
    targets_removed: list[str]
    functions_added: list[str]
    functions_removed: list[str]
    marks: list[MarkChange]
    """The changes of marks on targets that are in both publications, for functions that are in both."""

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
        targets_added=sorted(_place_name(place) for place in new_targets.keys() - old_targets.keys()),
        targets_removed=sorted(_place_name(place) for place in old_targets.keys() - new_targets.keys()),
        functions_added=sorted(new - old),
        functions_removed=sorted(old - new),
        marks=list(_marks(before, after, old_targets, new_targets)),
    )


@dataclass(frozen=True)
class VersionChanges:
    """The changes on one device and hardware, from a charted version to the next charted version."""

    before: TargetColumn
    after: TargetColumn
    changes: Sequence[MarkChange]
    """The changes of marks, the most used function first."""

    @property
    def marks(self) -> Sequence[MarkChange]:
        """Changes of the marks of functions that were charted with both versions."""
        return [change for change in self.changes if change.before and change.after]

    @property
    def added(self) -> Sequence[str]:
        """Functions that were charted with the newer version only."""
        return [change.function for change in self.changes if change.before is None]

    @property
    def removed(self) -> Sequence[str]:
        """Functions that were charted with the older version only."""
        return [change.function for change in self.changes if change.after is None]

    @property
    def has_same_cases(self) -> bool:
        """Whether both versions ran the same suites in the same revisions. If not, a mark may have changed only because
        the cases are different."""
        return _revisions(self.before) == _revisions(self.after)


def version_changes(framework: FrameworkOverview, after: TargetColumn) -> VersionChanges | None:
    """The changes since the previous charted version; None for the oldest version."""
    before = framework.before(after)
    if before is None:
        return None
    old, new = ({name: cell.mark for name, cell in column.cells.items()} for column in (before, after))
    place = after.target, after.evidence.hardware
    return VersionChanges(before, after, list(_mark_changes(place, old, new, framework.functions)))


def latest_changes(atlas: Atlas) -> Sequence[VersionChanges]:
    """The changes from the previous charted version to the newest, for each device and hardware with several charted
    versions.

    The device that was charted last comes first. Devices without changes are not included.
    """
    pairs = (version_changes(framework, column) for framework in atlas.frameworks for column in framework.newest)
    different = [pair for pair in pairs if pair is not None and pair.changes]
    return sorted(different, key=lambda pair: pair.after.evidence.charted_at, reverse=True)


def _revisions(column: TargetColumn) -> set[tuple[str, str]]:
    return {(chart.suite, chart.revision) for chart in column.evidence.charts}


_Place = tuple[str, str]
"""A target and its hardware."""


def _targets(document: Portability) -> Mapping[_Place, int]:
    return {(target.target, target.hardware): number for number, target in enumerate(document.targets)}


def _place_name(place: _Place) -> str:
    return " on ".join(place)


def _marks(
    before: Portability, after: Portability, old_targets: Mapping[_Place, int], new_targets: Mapping[_Place, int]
) -> Iterator[MarkChange]:
    shared_functions = sorted(before.functions.keys() & after.functions.keys())
    for place in sorted(old_targets.keys() & new_targets.keys()):
        old, new = _marks_on(before, old_targets[place]), _marks_on(after, new_targets[place])
        yield from _mark_changes(place, old, new, shared_functions)


def _marks_on(document: Portability, target: int) -> Mapping[str, Mark]:
    return {
        name: cell.mark
        for name, function in document.functions.items()
        for cell in function.cells
        if cell.target == target
    }


def _mark_changes(
    place: _Place, before: Mapping[str, Mark], after: Mapping[str, Mark], functions: Iterable[str]
) -> Iterator[MarkChange]:
    target, hardware = place
    for name in functions:
        old, new = before.get(name), after.get(name)
        if old is not new:
            yield MarkChange(function=name, target=target, hardware=hardware, before=old, after=new)
