"""Operations: a framework's own operations that made cases fail or fall back on a target, with the functions. Pure.

People call functions; a device has kernels for a framework's own operations (``aten::isin``, ``Qr``, ``eigh``).
Operations that ran on the device are not recorded.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from coordinator.assess.evidence import CaseEvidence
from coordinator.atlas.overview import FrameworkOverview, TargetColumn
from coordinator.results.involvement import Met
from protocol.enums import Cause

MET_WORDS = {
    Met.fell_back: "ran on the host",
    Met.failed: "failed",
    Met.diverged: "differed from the host",
    Met.not_lowered: "has no lowering",
}
"""The words for each way in which a case met an operation; they follow the operation's name."""


@dataclass(frozen=True)
class MetOperation:
    """An operation, and one way in which cases of one function met it."""

    operation: str
    met: Met
    cases: int
    chart: int
    """The index of the chart of one of these cases among the charts of the target."""


@dataclass(frozen=True)
class TargetOperation:
    """An operation on one target, with the ways in which cases of each function met it."""

    operation: str
    functions: Mapping[str, Sequence[MetOperation]]

    def cases(self, met: Met) -> int:
        return sum(one.cases for of_function in self.functions.values() for one in of_function if one.met is met)

    def functions_that_met(self, met: Met) -> Sequence[tuple[str, int]]:
        """The functions with their number of cases, the highest first."""
        rows = [(name, one.cases) for name, own in self.functions.items() for one in own if one.met is met]
        return sorted(rows, key=lambda row: (-row[1], row[0]))


@dataclass(frozen=True)
class TargetOperations:
    """All operations on one target, the one with the most functions first."""

    operations: Sequence[TargetOperation]
    cases: int
    """Cases that failed, fell back, or returned a result where the host refuses the call."""
    named: int
    """The number of these cases whose evidence names an operation."""

    @property
    def ways(self) -> Sequence[Met]:
        """The ways in which any case met an operation; a table has columns for these only."""
        return [met for met in Met if any(one.cases(met) for one in self.operations)]


def operations_met(cases: Iterable[CaseEvidence]) -> tuple[MetOperation, ...]:
    """The operations that cases of one function met, the one with the most cases first; without work of the host."""
    counts: Counter[tuple[str, Met]] = Counter()
    charts: dict[tuple[str, Met], int] = {}
    for case in cases:
        if case.met is None or case.cause is Cause.host_work:
            continue
        for operation in case.operations:
            counts[operation, case.met] += 1
            charts.setdefault((operation, case.met), case.chart)
    by_cases = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return tuple(MetOperation(*key, count, charts[key]) for key, count in by_cases)


def target_operations(column: TargetColumn) -> TargetOperations:
    """The operations on a target; none if the column was loaded without its cases."""
    by_operation: dict[str, dict[str, list[MetOperation]]] = defaultdict(lambda: defaultdict(list))
    cases = [case for name in column.cells for case in column.evidence.functions.get(name, ())]
    cases = [case for case in cases if case.met is not None and case.cause is not Cause.host_work]
    for name in column.cells:
        for one in operations_met(column.evidence.functions.get(name, ())):
            by_operation[one.operation][name].append(one)
    operations = [TargetOperation(operation, functions) for operation, functions in by_operation.items()]
    return TargetOperations(
        operations=sorted(operations, key=lambda one: (-len(one.functions), one.operation)),
        cases=len(cases),
        named=sum(bool(case.operations) for case in cases),
    )


def operations_by_name(framework: FrameworkOverview) -> Mapping[str, Sequence[tuple[TargetColumn, TargetOperation]]]:
    """Each operation of a framework by name, on all targets where cases met it."""
    by_name: dict[str, list[tuple[TargetColumn, TargetOperation]]] = defaultdict(list)
    for column in framework.columns:
        for one in target_operations(column).operations:
            by_name[one.operation].append((column, one))
    return dict(sorted(by_name.items()))
