"""The overview: every framework with its targets, and with its functions, the most used function first. This module
does no I/O."""

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
"""For each framework, the number of uses of each function in the counted packages. Frameworks without counts are
missing."""


@dataclass(frozen=True)
class TargetColumn:
    """A target, with a cell (the numbers of cases by result) for each of its functions."""

    evidence: TargetEvidence
    cells: Mapping[str, AtlasCell]
    """The cells by function name. Functions that never use a device are not included."""

    @property
    def target(self) -> str:
        return self.evidence.target

    @property
    def line(self) -> tuple[str, str]:
        """The pair of device and hardware. The columns with the same pair, one for each version, form a line."""
        return self.evidence.device, self.evidence.hardware

    @property
    def newest_charts(self) -> tuple[Chart, ...]:
        """The newest chart of each suite, newest first."""
        return tuple({chart.suite: chart for chart in reversed(self.evidence.charts)}.values())[::-1]

    def newest_first(self) -> tuple[object, ...]:
        """A sort key for columns: newer versions first, then device and hardware."""
        return tuple(-number for number in version_numbers(self.evidence.version)), self.line, self.target

    @cached_property
    def counts(self) -> Mapping[Mark, int]:
        """The number of functions with each mark."""
        counts = Counter(cell.mark for cell in self.cells.values())
        return {mark: counts[mark] for mark in BEST_FIRST}

    @property
    def differs(self) -> bool:
        """Whether the functions have different marks. If all functions have the same mark, the page shows no picture,
        because the number of functions says the same."""
        return sum(map(bool, self.counts.values())) > 1

    @property
    def rate(self) -> Rate:
        """The share of functions that work on the device. Functions with the mark ``host_work`` are not counted."""
        return Rate(self.counts[Mark.works], len(self.cells) - self.counts[Mark.host_work])

    @property
    def sentence(self) -> str:
        """How many functions work, work in part, fall back and fail, as one sentence: ``763 of 1,155 charted functions
        work; 301 work in part, 70 fall back and 21 fail``."""
        functions = plural(self.rate.n, "charted function")
        if self.evidence.is_lowered:
            return f"{number(self.rate_of(self.cells).count)} of {functions} are lowered in every case; none was run"
        counts = {mark: f"{number(count)} {_VERBS[mark][count != 1]}" for mark, count in self.counts.items()}
        others = [words for mark, words in counts.items() if self.counts[mark] and mark is not Mark.works]
        rest = f"; {join_words(others)}" if others else ""
        return f"{number(self.counts[Mark.works])} of {functions} {_VERBS[Mark.works][self.rate.n != 1]}{rest}"

    def rate_of(self, functions: Iterable[str]) -> Rate:
        """The share of these functions that work on the device, counted as in ``sentence``."""
        cells = [self.cells[name] for name in functions if name in self.cells]
        if self.evidence.is_lowered:
            return Rate(sum(not cell.failed for cell in cells), len(cells))
        marks = [cell.mark for cell in cells if cell.mark is not Mark.host_work]
        return Rate(marks.count(Mark.works), len(marks))

    def letters(self, functions: Iterable[str]) -> str:
        """A text with one letter for each of these functions: its mark."""
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
"""The verb for each mark, for one function and for several functions."""


@dataclass(frozen=True)
class FrameworkOverview:
    """A framework with its targets and functions. Among the targets of one device and hardware, the newest version
    comes first."""

    name: str
    columns: tuple[TargetColumn, ...]
    functions: tuple[str, ...]
    """All functions that are charted on at least one target, the most used function first."""
    uses: Mapping[str, int]

    @cached_property
    def ranks(self) -> Mapping[str, int]:
        """The rank of each function by use, counted from 1."""
        return {name: rank for rank, name in enumerate(self.functions, start=1)}

    @cached_property
    def newest(self) -> tuple[TargetColumn, ...]:
        """The columns of the newest version for each device and hardware."""
        return tuple({column.line: column for column in reversed(self.columns)}.values())[::-1]

    @cached_property
    def modules(self) -> Mapping[str, tuple[str, ...]]:
        """For each module or class, the functions in it. Modules and functions are sorted by name."""
        modules: dict[str, list[str]] = defaultdict(list)
        for name in sorted(self.functions):
            modules[name.rpartition(".")[0]].append(name)
        return {module: tuple(names) for module, names in sorted(modules.items())}

    def strip(self, line: tuple[str, str]) -> tuple[TargetColumn, ...]:
        """The columns of one device and hardware, the oldest version first."""
        return tuple(column for column in reversed(self.columns) if column.line == line)

    def before(self, column: TargetColumn) -> TargetColumn | None:
        """The column of the previous charted version on the same device and hardware; None for the oldest."""
        version = version_numbers(column.evidence.version)
        older = (one for one in self.columns if one.line == column.line)
        return next((one for one in older if version_numbers(one.evidence.version) < version), None)


@dataclass(frozen=True)
class Atlas:
    """All frameworks, and the source of the evidence."""

    frameworks: tuple[FrameworkOverview, ...]
    origin: str
    """The source of the evidence in words: ``ships with Portolan``."""

    @property
    def _columns(self) -> tuple[TargetColumn, ...]:
        return tuple(column for framework in self.frameworks for column in framework.columns)

    @property
    def _charts(self) -> tuple[Chart, ...]:
        return tuple(chart for column in self._columns for chart in column.evidence.charts)

    @property
    def charted_at(self) -> datetime | None:
        """The time of the newest evidence; None for an empty atlas."""
        return max((column.evidence.charted_at for column in self._columns), default=None)

    @property
    def ships(self) -> bool:
        """Whether all evidence ships with Portolan."""
        return bool(self._charts) and all(chart.ships for chart in self._charts)

    @property
    def scope(self) -> str:
        """The targets and dates of the evidence: ``torch@2.9.0/xla on AMD EPYC, from 2026-11-27 to 2026-11-29``."""
        targets = [column.target for column in self._columns]
        hardware = sorted({column.evidence.hardware for column in self._columns})
        days = [f"{chart.at:%Y-%m-%d}" for chart in self._charts]
        when = f"on {min(days)}" if min(days) == max(days) else f"from {min(days)} to {max(days)}"
        return f"{join_words(targets)} on {join_words(hardware)}, {when}"

    @property
    def lowered_marks(self) -> tuple[Mark, ...]:
        """The marks on targets that only lower programs, the best first."""
        counts = [column.counts for column in self._columns if column.evidence.is_lowered]
        return tuple(mark for mark in BEST_FIRST if any(own[mark] for own in counts))

    @property
    def functions(self) -> int:
        return sum(len(framework.functions) for framework in self.frameworks)

    @property
    def targets(self) -> int:
        return len(self._columns)


def column_of(target: TargetEvidence, host_only: Container[str]) -> TargetColumn:
    """The column of a target. The functions in ``host_only`` never use a device, so they get no mark."""
    cells = {name: cell_of(cases) for name, cases in target.functions.items() if name not in host_only}
    return TargetColumn(target, {name: cell for name, cell in cells.items() if cell is not None})


def atlas_of(columns: Iterable[TargetColumn], uses: Uses, origin: str) -> Atlas:
    """Combine columns into an atlas. Columns without any cell are not included."""
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
