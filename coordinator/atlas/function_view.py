"""The content of a function's page: the function's results on every target, and the first version of the framework with
these results. This module does no I/O."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from coordinator.assess.evidence import CaseEvidence, Chart, mean_ratio, second_shape_of
from coordinator.assess.verdicts import judged_cases
from coordinator.atlas.marks import AtlasCell, cell_words
from coordinator.atlas.operations import MetOperation, operations_met
from coordinator.atlas.overview import FrameworkOverview, TargetColumn
from coordinator.atlas.versions import Span, VersionMark, since, spans
from coordinator.figures.second_shape import SecondShape
from coordinator.results.conditions import FunctionCondition, function_condition
from protocol.enums import Cause, is_lowered

MOST_MESSAGES = 5
"""The maximum number of different failure messages that are shown for one target."""
UNKNOWN_DTYPE = "not known"


@dataclass(frozen=True)
class FailureMessage:
    """An error message of failing cases, with the number of cases that have this message."""

    text: str
    causes: tuple[str, ...]
    cases: int
    repeat: str
    """The command that repeats the first case with this message."""


@dataclass(frozen=True)
class DtypeCount:
    """The results of the cases that have an array of one dtype, as numbers of cases."""

    dtype: str
    total: int
    on_device: int
    failed: int
    fell_back: int


@dataclass(frozen=True)
class Disagreement:
    """An older chart in which some cases of the function have other results than in the evidence, with the number of
    these cases."""

    chart: Chart
    number: int
    """The index of the chart among the charts of the target."""
    cases: int


@dataclass(frozen=True)
class FunctionResults:
    """The results of a function on one target."""

    column: TargetColumn
    name: str
    cell: AtlasCell
    condition: FunctionCondition
    dtypes: tuple[DtypeCount, ...]
    disagreements: tuple[Disagreement, ...]
    messages: tuple[FailureMessage, ...]
    more_messages: int
    repeat_fallback: str | None
    """The command that repeats the first case that fell back to the host; None if there is no such case."""
    ratio: float | None
    """The ratio of the function's latency to its latency on the CPU; None unless both were measured."""
    operations: tuple[MetOperation, ...]
    second_shape: SecondShape | None
    """The time of the first call with a second shape; None if it was not measured."""

    @property
    def words(self) -> str:
        return cell_words(self.cell, is_lowered=self.column.evidence.is_lowered)

    @property
    def conditions(self) -> tuple[str, ...]:
        """For the failing cases and for the cases that fall back, a sentence about the options that distinguish them
        from the other cases."""
        conditions = (("fails", self.condition.fails), ("falls back", self.condition.falls_back))
        return tuple(
            f"{verb} {condition}" for verb, condition in conditions if condition and condition.aspect is not None
        )

    @property
    def ways_by_operation(self) -> Sequence[Sequence[MetOperation]]:
        """The kinds of involvement of each operation, the operation with the most cases first."""
        ways: dict[str, list[MetOperation]] = defaultdict(list)
        for one in self.operations:
            ways[one.operation].append(one)
        return list(ways.values())

    @property
    def campaigns(self) -> tuple[int, ...]:
        """The numbers of the campaigns from which the evidence comes; empty if it does not come from a coordinator."""
        charts = self.column.evidence.charts
        return tuple(sorted({campaign for number in self.charts if (campaign := charts[number].campaign) is not None}))

    @property
    def signatures(self) -> tuple[str, ...]:
        """The signatures of the evidence in words: ``signed by lab@example.org``, ``unsigned``."""
        charts = self.column.evidence.charts
        return tuple(sorted({words for number in self.charts if (words := charts[number].signature) is not None}))

    @property
    def charts(self) -> tuple[int, ...]:
        """The charts from which the evidence comes, as indexes in the list of the target's charts."""
        return tuple(sorted({case.chart for case in self.column.evidence.functions[self.name]}))


@dataclass(frozen=True)
class VersionHistory:
    """The marks of a function on one device and hardware over versions."""

    device: str
    hardware: str
    observations: tuple[VersionMark, ...]

    @property
    def spans(self) -> tuple[Span, ...]:
        return spans(self.observations)

    @property
    def is_lowered(self) -> bool:
        return is_lowered(self.device)

    @property
    def since(self) -> str | None:
        return since(self.spans, is_lowered=self.is_lowered)


@dataclass(frozen=True)
class FunctionView:
    """The content of a function's page."""

    framework: str
    name: str
    uses: int | None
    rank: int | None
    """The rank by use among the charted functions of the framework, counted from 1; None if the function is not
    charted."""
    functions: int
    targets: tuple[FunctionResults, ...]
    """All targets with evidence about the function, newer versions first."""
    missing: tuple[str, ...]
    """The targets of the newest version on which the function was not charted."""
    lines: tuple[VersionHistory, ...]
    before: str | None
    after: str | None
    """The names of the previous and the next function."""

    @property
    def newest(self) -> tuple[FunctionResults, ...]:
        """The results on the newest version of each device and hardware with evidence about the function."""
        return tuple({target.column.line: target for target in reversed(self.targets)}.values())[::-1]

    def span(self, target: FunctionResults) -> Span:
        """The consecutive charted versions, including that of ``target``, that have the same mark as ``target``."""
        line = next(line for line in self.lines if (line.device, line.hardware) == target.column.line)
        version, mark = target.column.evidence.version, target.cell.mark
        return next(span for span in line.spans if span.mark is mark and version in span.versions)

    @property
    def module(self) -> str:
        return self.name.rpartition(".")[0]


def function_views(framework: FrameworkOverview) -> Iterator[FunctionView]:
    """The views of all functions of a framework, sorted by name."""
    for before, name, after in _with_neighbours(sorted(framework.functions)):
        yield _view(framework, name, before, after)


def function_view(framework: FrameworkOverview, name: str, columns: Iterable[TargetColumn]) -> FunctionView:
    """The view of one function. ``columns`` are used instead of the columns of ``framework``, because they contain the
    function's cases."""
    own = {column.evidence.key: column for column in columns}
    others = (replace(column, cells={}) for column in framework.columns if column.evidence.key not in own)
    every = sorted((*own.values(), *others), key=TargetColumn.newest_first)
    names = sorted({*framework.functions, name})
    before, after = next((before, after) for before, one, after in _with_neighbours(names) if one == name)
    return _view(replace(framework, columns=tuple(every)), name, before, after)


def _with_neighbours(names: Sequence[str]) -> Iterator[tuple[str | None, str, str | None]]:
    return zip([None, *names[:-1]], names, [*names[1:], None], strict=True)


def _view(framework: FrameworkOverview, name: str, before: str | None, after: str | None) -> FunctionView:
    return FunctionView(
        framework=framework.name,
        name=name,
        uses=framework.uses.get(name),
        rank=framework.ranks.get(name),
        functions=len(framework.functions),
        targets=tuple(_on_target(column, name) for column in framework.columns if name in column.cells),
        missing=tuple(column.target for column in framework.newest if name not in column.cells),
        lines=tuple(_line(framework, column, name) for column in framework.newest),
        before=before,
        after=after,
    )


def _on_target(column: TargetColumn, name: str) -> FunctionResults:
    cases = [case for case in column.evidence.functions[name] if case.cause is not Cause.host_work]
    messages = list(_messages(column, cases))
    fallback = next((case for case in cases if case.end == "fell_back"), None)
    return FunctionResults(
        column=column,
        name=name,
        cell=column.cells[name],
        condition=function_condition(cases),
        dtypes=tuple(_dtypes(judged_cases(cases))),
        disagreements=tuple(_disagreements(column, cases)),
        messages=tuple(messages[:MOST_MESSAGES]),
        more_messages=max(0, len(messages) - MOST_MESSAGES),
        repeat_fallback=column.evidence.repeat(fallback.case, fallback.chart) if fallback else None,
        ratio=mean_ratio(cases),
        operations=operations_met(cases),
        second_shape=second_shape_of(cases),
    )


def _line(framework: FrameworkOverview, newest: TargetColumn, name: str) -> VersionHistory:
    strip = framework.strip(newest.line)
    observations = (
        VersionMark(column.evidence.version, column.cells[name].mark if name in column.cells else None)
        for column in strip
    )
    return VersionHistory(*newest.line, tuple(observations))


def _disagreements(column: TargetColumn, cases: Sequence[CaseEvidence]) -> Iterator[Disagreement]:
    """The older charts that disagree with the evidence, the newest first."""
    counts = Counter(number for case in cases for number in case.disagreeing)
    for number in sorted(counts):
        yield Disagreement(column.evidence.charts[number], number, counts[number])


def _messages(column: TargetColumn, cases: Sequence[CaseEvidence]) -> Iterator[FailureMessage]:
    """The messages of failing and of silently accepted cases, the most frequent message first."""
    by_message: dict[str, list[CaseEvidence]] = defaultdict(list)
    for case in cases:
        if case.end in ("failed", "accepted"):
            by_message[case.said or "the evidence has no message"].append(case)
    for text, failed_cases in sorted(by_message.items(), key=lambda item: (-len(item[1]), item[0])):
        causes = tuple(dict.fromkeys(str(case.cause) for case in failed_cases if case.cause))
        first = failed_cases[0]
        yield FailureMessage(text, causes, len(failed_cases), column.evidence.repeat(first.case, first.chart))


def _dtypes(cases: Sequence[CaseEvidence]) -> Iterator[DtypeCount]:
    """The results by dtype. A case with arrays of several dtypes counts for each of these dtypes."""
    ends: dict[str, Counter[str]] = defaultdict(Counter)
    for case in cases:
        for dtype in (case.options.dtypes if case.options else ()) or (UNKNOWN_DTYPE,):
            ends[dtype][case.end] += 1
    for dtype in sorted(ends, key=lambda name: (name == UNKNOWN_DTYPE, name)):
        counts = ends[dtype]
        yield DtypeCount(dtype, counts.total(), counts["passed"], counts["failed"], counts["fell_back"])
