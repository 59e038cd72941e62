"""Operations: the framework's own operations at which cases fail or fall back on a target, and the functions of these
cases. This module does no I/O.

People call functions, but a device has kernels for the framework's own operations (``aten::isin``, ``Qr``, ``eigh``).
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
"""The words for each kind of involvement, which follow the operation's name."""


@dataclass(frozen=True)
class MetOperation:
    """An operation that is involved in bad results of one function's cases, and how: for example, the host ran it."""

    operation: str
    met: Met
    cases: int
    chart: int
    """The chart of one of these cases, as an index in the list of the target's charts."""


@dataclass(frozen=True)
class TargetOperation:
    """An operation on one target, with the functions in whose cases it is involved."""

    operation: str
    functions: Mapping[str, Sequence[MetOperation]]

    def cases(self, met: Met) -> int:
        return sum(one.cases for of_function in self.functions.values() for one in of_function if one.met is met)

    def functions_that_met(self, met: Met) -> Sequence[tuple[str, int]]:
        """The functions with cases in which the operation is involved in this way, and the numbers of these cases. The
        function with the most cases comes first."""
        rows = [(name, one.cases) for name, own in self.functions.items() for one in own if one.met is met]
        return sorted(rows, key=lambda row: (-row[1], row[0]))


@dataclass(frozen=True)
class TargetOperations:
    """All operations on one target. The operation with the most functions comes first."""

    operations: Sequence[TargetOperation]
    cases: int
    """The number of cases that failed, fell back or were silently accepted."""
    named: int
    """The number of these cases whose evidence names an operation."""

    @property
    def ways(self) -> Sequence[Met]:
        """The kinds of involvement that occur. The table has columns only for these kinds."""
        return [met for met in Met if any(one.cases(met) for one in self.operations)]


def operations_met(cases: Iterable[CaseEvidence]) -> tuple[MetOperation, ...]:
    """The operations in the cases of one function, the operation with the most cases first. Cases that are work of the
    host are not included."""
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
    """The operations on a target; empty if the column was loaded without its cases."""
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
    """The operations of a framework by name. Each has all targets on which it is involved in failures, fallbacks or
    silent acceptances."""
    by_name: dict[str, list[tuple[TargetColumn, TargetOperation]]] = defaultdict(list)
    for column in framework.columns:
        for one in target_operations(column).operations:
            by_name[one.operation].append((column, one))
    return dict(sorted(by_name.items()))
