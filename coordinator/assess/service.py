"""A coordinator's evidence: the newest outcome of each case on each target, from all of its campaigns."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from sqlalchemy import Row
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from coordinator.assess import store
from coordinator.assess.chart_reader import ChartReader, FunctionCharts, Times, WholeCharts
from coordinator.assess.evidence import CaseEvidence, Chart, EvidenceSet, TargetEvidence, TargetKey
from coordinator.assess.merging import CaseIndex, Charted, TargetMerger, complete
from coordinator.assess.runs import NO_TIMES, Run, RunCase, case_evidence, is_met_refusal
from coordinator.assess.script import (
    AssessedScript,
    Script,
    assess_script_on,
    frameworks_of,
    names_in,
    newest,
    read_script,
    shipped_of,
)
from coordinator.results.condition_rows import stored_options
from coordinator.targets.selectors import Selector
from protocol.enums import HOST, Cause, DeviceClass, Ending, Placement, Verdict

MOST_CHARTS = 100
"""The maximum number of campaigns that are read for each target, the newest first. Older campaigns hardly ever add
evidence."""
FEW_CASES = 100
"""The maximum number of cases that are processed without a thread, because it takes only a millisecond."""

ORIGIN = "from the campaigns of this coordinator"
"""The source of a database's evidence in words."""


async def evidence(engine: AsyncEngine, selector: Selector, *, with_cpu: bool = False) -> tuple[TargetEvidence, ...]:
    """Return the evidence about all matching targets. The CPU, with which the other targets are compared, is included
    only if ``with_cpu`` is true."""
    async with engine.connect() as connection:
        charts = [
            chart
            for chart in await store.charts(connection)
            if (with_cpu or chart.device != HOST) and selector.matches(chart)
        ]
        return await _read(WholeCharts(connection), charts)


async def evidence_of_functions(
    engine: AsyncEngine, framework: str, functions: Sequence[str]
) -> tuple[TargetEvidence, ...]:
    """The evidence about some functions on every target, including the CPU."""
    async with engine.connect() as connection:
        charts = [chart for chart in await store.charts(connection) if chart.framework == framework]
        return await _read_functions(connection, charts, functions)


async def each_evidence(engine: AsyncEngine, report: Callable[[int, int], None]) -> AsyncIterator[TargetEvidence]:
    """Yield the evidence about every target, including the CPU, one target at a time, because all evidence together can
    be as large as the database.

    The evidence has only the results of cases, without options, messages, operations and times. After each target,
    ``report`` is called with the number of targets read and the total number.
    """
    async with engine.connect() as connection:
        by_target: dict[TargetKey, list[Row[Any]]] = defaultdict(list)
        for chart in await store.charts(connection):
            by_target[_key(chart)].append(chart)
        reader = WholeCharts(connection)
        for number, key in enumerate(sorted(by_target), 1):
            for target in await _read(reader, by_target[key], in_full=False):
                yield target
            report(number, len(by_target))


async def assess_script(engine: AsyncEngine, script: Script, selector: Selector) -> AssessedScript:
    """Compare a script with the newest evidence about each matching target except the CPU.

    As on the command line, shipped evidence is added. Raises the errors of ``read_script``.
    """
    source = await asyncio.to_thread(read_script, script)
    evidence = []
    async with engine.connect() as connection:
        charts = [chart for chart in await store.charts(connection) if chart.device != HOST and selector.matches(chart)]
        for framework in frameworks_of(source):
            own = [chart for chart in charts if chart.framework == framework]
            names = await asyncio.to_thread(names_in, source, framework)
            targets = [*await _read_functions(connection, own, names), *_without_cases(own)]
            evidence.append(complete(EvidenceSet(newest(targets), ORIGIN), shipped_of(framework, selector)))
    return await asyncio.to_thread(assess_script_on, script, source, evidence)


async def list_charts(engine: AsyncEngine) -> frozenset[tuple[int, int, int, int]]:
    """The charts: campaign id, target id, number of outcomes, number of reclassifications. The set changes exactly when
    the evidence changes."""
    async with engine.connect() as connection:
        return await store.read_charts(connection)


async def _read_functions(
    connection: AsyncConnection, charts: Sequence[Row[Any]], functions: Sequence[str]
) -> tuple[TargetEvidence, ...]:
    newest = list(_newest_of_each(charts))
    return await _read(await FunctionCharts.open(connection, functions, newest), newest)


async def _read(reader: ChartReader, charts: Sequence[Row[Any]], *, in_full: bool = True) -> tuple[TargetEvidence, ...]:
    """Read charts, newest first. If no case of a chart counts as evidence, only its results are read, because they may
    disagree with newer charts.

    Unless ``in_full``, such charts are skipped, and options, messages, operations and times are not read.
    """
    mergers: dict[TargetKey, TargetMerger] = defaultdict(TargetMerger)
    for chart in _newest_of_each(charts):
        cases = await reader.cases(chart)
        merger = mergers[_key(chart)]
        is_evidence = merger.lacks(chart.suite, chart.revision, cases)
        if not cases.functions or not (is_evidence or in_full):
            continue
        rows = await (reader.runs(chart) if is_evidence and in_full else reader.ends(chart))
        times = await reader.times(chart) if is_evidence and in_full else {}
        if len(rows) > FEW_CASES:
            await asyncio.to_thread(_add, merger, chart, cases, rows, times)
        else:
            _add(merger, chart, cases, rows, times)
    return tuple(merger.evidence for _, merger in sorted(mergers.items()) if merger.has_charts)


def _newest_of_each(charts: Iterable[Row[Any]]) -> Iterator[Row[Any]]:
    """The newest charts of each target, in the order of ``charts``."""
    counts: Counter[TargetKey] = Counter()
    for chart in charts:
        counts[_key(chart)] += 1
        if counts[_key(chart)] <= MOST_CHARTS:
            yield chart


def _without_cases(charts: Sequence[Row[Any]]) -> Iterator[TargetEvidence]:
    """Yield, for each target, evidence without functions. This is enough to show when the target was last charted."""
    for chart in {_key(chart): chart for chart in reversed(charts)}.values():
        yield _target_of(chart, {})


def _key(chart: Row[Any]) -> TargetKey:
    return TargetKey(chart.framework, chart.version, chart.device, chart.hardware, chart.simulated)


def _add(merger: TargetMerger, chart: Row[Any], cases: CaseIndex, rows: Sequence[Row[Any]], times: Times) -> None:
    functions: dict[str, list[CaseEvidence]] = defaultdict(list)
    met_refusals = set()
    for row in rows:
        options = None if row.options is None else stored_options(row.options)
        case, runs = RunCase(row.name, frozenset(row.tags), options, row.host_only), _runs(row)
        evidence = case_evidence(case, runs, 0, times.get(row.case_id, NO_TIMES))
        if evidence is not None:
            functions[row.function].append(evidence)
        elif is_met_refusal(case, runs):
            met_refusals.add(row.name)
    merger.add(Charted(_target_of(chart, functions), cases.digests, frozenset(met_refusals)))


def _target_of(chart: Row[Any], functions: Mapping[str, Sequence[CaseEvidence]]) -> TargetEvidence:
    return TargetEvidence(
        framework=chart.framework,
        version=chart.version,
        device=chart.device,
        device_class=DeviceClass(chart.device_class),
        hardware=chart.hardware,
        charts=(
            Chart(
                chart.suite,
                chart.revision,
                chart.at,
                chart.campaign_id,
                chart.repeat,
                chart.signed_by,
                is_unsigned=chart.is_imported and chart.signed_by is None,
            ),
        ),
        functions={name: tuple(cases) for name, cases in functions.items()},
        simulated=chart.simulated,
        notes=tuple(chart.notes),
    )


def _runs(row: Row[Any]) -> list[Run]:
    runs = list(map(_run, row.verdicts, row.placements, row.causes, row.endings))
    if row.messages is None:
        return runs
    return [
        run if message is None and not names else replace(run, said=message, operations=tuple(names))
        for run, message, names in zip(runs, row.messages, map(_names, row.operations), strict=True)
    ]


def _names(stored: Mapping[str, int] | str | None) -> Sequence[str]:
    """The names of the operations of a run, from the stored JSON: the keys of an object of fallbacks, or the operation
    of a failure."""
    return (stored,) if isinstance(stored, str) else tuple(stored or ())


# A million runs have only a few hundred different results.
@lru_cache(maxsize=4096)
def _run(verdict: str, placement: str, cause: str | None, ending: str) -> Run:
    return Run(Verdict(verdict), Placement(placement), None if cause is None else Cause(cause), Ending(ending))
