"""The overview: every framework with its targets and functions, those that are used most first. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from coordinator.assess.evidence import Chart, TargetEvidence
from coordinator.atlas.marks import NOT_CHARTED, AtlasCell, Mark, cell_of
from coordinator.catalogue.releases import version_numbers
from coordinator.figures.formats import join_words, number, plural
from coordinator.results.statistics import Rate

Uses = Mapping[str, Mapping[str, int]]
"""By framework, how often code of others uses each function, as far as it was counted."""


@dataclass(frozen=True)
class TargetColumn:
    """A target with the cells of its functions."""

    evidence: TargetEvidence
    cells: Mapping[str, AtlasCell]
    """By function, without those that never touch a device."""

    @property
    def target(self) -> str:
        return self.evidence.target

    @property
    def line(self) -> tuple[str, str]:
        """Device and hardware, which stay the same from one version to the next."""
        return self.evidence.device, self.evidence.hardware

    @property
    def newest_charts(self) -> tuple[Chart, ...]:
        """The newest chart of each suite, the newest of all first."""
        return tuple({chart.suite: chart for chart in reversed(self.evidence.charts)}.values())[::-1]

    def newest_first(self) -> tuple[object, ...]:
        """A key by which columns are sorted: newer versions first, then by device and hardware."""
        return tuple(-number for number in version_numbers(self.evidence.version)), self.line, self.target

    @cached_property
    def counts(self) -> Mapping[Mark, int]:
        """How many functions have each mark."""
        counts = Counter(cell.mark for cell in self.cells.values())
        return {mark: counts[mark] for mark in BEST_FIRST}

    @property
    def differs(self) -> bool:
        """Whether not all functions do alike there: else a number says all that a picture would."""
        return sum(map(bool, self.counts.values())) > 1

    @property
    def rate(self) -> Rate:
        """The functions that work on the device, of those that are charted and no work of the host."""
        return Rate(self.counts[Mark.works], len(self.cells) - self.counts[Mark.host_work])

    @property
    def sentence(self) -> str:
        """``763 of 1,155 charted functions work; 301 work in part, 70 fall back and 21 fail``."""
        functions = plural(self.rate.n, "charted function")
        if self.evidence.is_lowered:
            lowered_count = sum(not cell.failed for cell in self.cells.values())
            return f"{number(lowered_count)} of {functions} are lowered for it in every case; none was run"
        counts = {mark: f"{number(count)} {_VERBS[mark][count != 1]}" for mark, count in self.counts.items()}
        others = [words for mark, words in counts.items() if self.counts[mark] and mark is not Mark.works]
        rest = f"; {join_words(others)}" if others else ""
        return f"{number(self.counts[Mark.works])} of {functions} {_VERBS[Mark.works][self.rate.n != 1]}{rest}"

    def letters(self, functions: Iterable[str]) -> str:
        """The marks of functions, a letter each."""
        cells = self.cells
        return "".join(cells[name].mark.letter if name in cells else NOT_CHARTED for name in functions)


BEST_FIRST = (Mark.works, Mark.unproven, Mark.partly, Mark.falls_back, Mark.fails, Mark.host_work)
_VERBS = {
    Mark.works: ("works", "work"),
    Mark.unproven: ("is unproven", "are unproven"),
    Mark.partly: ("works in part", "work in part"),
    Mark.falls_back: ("falls back", "fall back"),
    Mark.fails: ("fails", "fail"),
    Mark.host_work: ("is work of the host", "are work of the host"),
}
"""Of each mark the verb for one function, and for several."""


@dataclass(frozen=True)
class FrameworkOverview:
    """A framework with its targets: the newest version of each device and hardware first."""

    name: str
    columns: tuple[TargetColumn, ...]
    functions: tuple[str, ...]
    """All that are charted on any of the targets, the most used first."""
    uses: Mapping[str, int]

    @cached_property
    def ranks(self) -> Mapping[str, int]:
        """The place of each function by its use, from 1."""
        return {name: rank for rank, name in enumerate(self.functions, start=1)}

    @cached_property
    def newest(self) -> tuple[TargetColumn, ...]:
        """Of each device and hardware the column of the newest version."""
        return tuple({column.line: column for column in reversed(self.columns)}.values())[::-1]

    @cached_property
    def modules(self) -> Mapping[str, tuple[str, ...]]:
        """The functions by module or class, in the order of their names."""
        modules: dict[str, list[str]] = defaultdict(list)
        for name in sorted(self.functions):
            modules[name.rpartition(".")[0]].append(name)
        return {module: tuple(names) for module, names in sorted(modules.items())}

    def strip(self, line: tuple[str, str]) -> tuple[TargetColumn, ...]:
        """The columns of one device and hardware, the oldest version first."""
        return tuple(column for column in reversed(self.columns) if column.line == line)

    def before(self, column: TargetColumn) -> TargetColumn | None:
        """The column of the charted version before, on the same device and hardware; None of the oldest."""
        version = version_numbers(column.evidence.version)
        older = (one for one in self.columns if one.line == column.line)
        return next((one for one in older if version_numbers(one.evidence.version) < version), None)


@dataclass(frozen=True)
class Atlas:
    """All frameworks, and where the evidence is from."""

    frameworks: tuple[FrameworkOverview, ...]
    origin: str
    """In words: ``ships with Portolan``."""

    @property
    def charted_at(self) -> datetime | None:
        """When the newest of its evidence was found; None of an empty atlas."""
        return max((column.evidence.charted_at for one in self.frameworks for column in one.columns), default=None)

    @property
    def functions(self) -> int:
        return sum(len(framework.functions) for framework in self.frameworks)

    @property
    def targets(self) -> int:
        return sum(len(framework.columns) for framework in self.frameworks)


def column_of(target: TargetEvidence, host_only: Container[str]) -> TargetColumn:
    """A target's column. Functions of ``host_only`` never touch a device, so that no device has a mark of them."""
    cells = {name: cell_of(cases) for name, cases in target.functions.items() if name not in host_only}
    return TargetColumn(target, {name: cell for name, cell in cells.items() if cell is not None})


def atlas_of(columns: Iterable[TargetColumn], uses: Uses, origin: str) -> Atlas:
    """Put columns together; those without any cell are left out."""
    by_framework: dict[str, list[TargetColumn]] = defaultdict(list)
    for column in columns:
        if column.cells:
            by_framework[column.evidence.framework].append(column)
    return Atlas(
        tuple(_framework(name, by_framework[name], uses.get(name, {})) for name in sorted(by_framework)), origin
    )


def _framework(name: str, columns: Iterable[TargetColumn], uses: Mapping[str, int]) -> FrameworkOverview:
    newest_first = sorted(columns, key=TargetColumn.newest_first)
    functions = {function for column in newest_first for function in column.cells}
    most_used = sorted(functions, key=lambda function: (-uses.get(function, 0), function))
    return FrameworkOverview(
        name, tuple(newest_first), tuple(most_used), {name: uses[name] for name in most_used if name in uses}
    )
