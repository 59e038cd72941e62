"""Evidence of a coordinator: the newest outcome of each case and target, whatever campaign it came from."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Row
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from coordinator.assess import store
from coordinator.assess.evidence import CaseEvidence, Chart, EvidenceSet, TargetEvidence, TargetKey
from coordinator.assess.merging import Charted, complete, merge_charts
from coordinator.assess.runs import Run, RunCase, case_evidence
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
"""Targets of campaigns that are looked at, the newest; older ones have nothing new in practice."""

ORIGIN = "from the campaigns of this coordinator"
"""In words, where evidence of the database is from."""


@dataclass(frozen=True)
class TargetRead:
    """The evidence of one target, while all are read one after the other."""

    evidence: TargetEvidence
    number: int
    """From 1."""
    of: int


async def evidence(engine: AsyncEngine, selector: Selector) -> tuple[TargetEvidence, ...]:
    """The evidence of the targets that the selector matches, without the CPU, to which the others are compared."""
    async with engine.connect() as connection:
        rows = [row for row in await store.charts(connection) if row.device != HOST and selector.matches(row)]
        return await _read(connection, rows)


async def evidence_of_functions(
    engine: AsyncEngine, framework: str, functions: Sequence[str]
) -> tuple[TargetEvidence, ...]:
    """The evidence of some functions on every target, the CPU's as well."""
    async with engine.connect() as connection:
        rows = [row for row in await store.charts(connection) if row.framework == framework]
        return await _read(connection, rows, functions)


async def each_evidence(engine: AsyncEngine) -> AsyncIterator[TargetRead]:
    """The evidence of every target, the CPU's as well, one after the other and only how its cases end.

    All of it at once would be as large as the database.
    """
    async with engine.connect() as connection:
        rows = await store.charts(connection)
        by_target: dict[TargetKey, list[Row[Any]]] = defaultdict(list)
        for row in rows:
            by_target[_key(row)].append(row)
        digest_reader = _DigestReader(connection, None)
        for number, key in enumerate(sorted(by_target), 1):
            for target in await _read(connection, by_target[key], in_full=False, digest_reader=digest_reader):
                yield TargetRead(target, number, len(by_target))


async def assess_script(engine: AsyncEngine, script: Script, selector: Selector) -> AssessedScript:
    """Set a script against the newest evidence of each target but the CPU that the selector matches.

    It is completed by the evidence that ships, as on the command line. Raises ``RequestError``.
    """
    source = await asyncio.to_thread(read_script, script)
    evidence = []
    async with engine.connect() as connection:
        charts = [row for row in await store.charts(connection) if row.device != HOST and selector.matches(row)]
        for framework in frameworks_of(source):
            rows = [row for row in charts if row.framework == framework]
            names = await asyncio.to_thread(names_in, source, framework)
            targets = [*await _read(connection, rows, names), *_without_cases(rows)]
            evidence.append(complete(EvidenceSet(newest(targets), ORIGIN), shipped_of(framework, selector)))
    return await asyncio.to_thread(assess_script_on, script, source, evidence)


async def list_charts(engine: AsyncEngine) -> frozenset[tuple[int, int, int, int]]:
    """The charts that there are, and how much of each there is: equal as long as the evidence is."""
    async with engine.connect() as connection:
        return await store.read_charts(connection)


async def _read(
    connection: AsyncConnection,
    rows: Sequence[Row[Any]],
    functions: Sequence[str] | None = None,
    *,
    in_full: bool = True,
    digest_reader: _DigestReader | None = None,
) -> tuple[TargetEvidence, ...]:
    """Read charts, the newest first.

    Of one whose cases were all charted later, under the same revision, only how its cases end is read, which may
    disagree. Not ``in_full`` it is left, and there are no options, messages and ratios.
    """
    charts: list[Charted] = []
    digest_reader = digest_reader or _DigestReader(connection, functions)
    ratio_reader = _RatioReader(connection, functions)
    case_ids: dict[tuple[object, ...], set[str]] = defaultdict(set)
    for row in rows[:MOST_CHARTS]:
        digests = await digest_reader.digests_of(row.suite_id)
        cases = case_ids[row.framework, row.version, row.device, row.hardware, row.simulated, row.suite_id]
        is_newer = not digests.keys() <= cases
        if not digests or not (is_newer or in_full):
            continue
        read = store.runs if is_newer and in_full else store.ends
        cases_of_chart = await read(connection, row.campaign_id, row.target_id, row.suite_id, functions)
        ratios = await ratio_reader.ratios_of(row) if is_newer and in_full else {}
        charts.append(await asyncio.to_thread(_chart_of, row, digests, cases_of_chart, ratios))
        cases |= {case.case for own in charts[-1].target.functions.values() for case in own}
    return await asyncio.to_thread(merge_charts, charts)


class _DigestReader:
    """Reads the cases of each suite once: most campaigns of an instance chart the same suites."""

    def __init__(self, connection: AsyncConnection, functions: Sequence[str] | None) -> None:
        self._connection = connection
        self._functions = functions
        self._by_suite: dict[int, Mapping[str, str | None]] = {}

    async def digests_of(self, suite_id: int) -> Mapping[str, str | None]:
        """By case of a suite, under one revision."""
        if suite_id not in self._by_suite:
            self._by_suite[suite_id] = await store.digests(self._connection, suite_id, self._functions)
        return self._by_suite[suite_id]


class _RatioReader:
    """Reads the ratios of each campaign once: which CPU is nearest to a target is decided among all of its targets."""

    def __init__(self, connection: AsyncConnection, functions: Sequence[str] | None) -> None:
        self._connection = connection
        self._functions = functions
        self._by_target: dict[tuple[int, int], Mapping[int, Mapping[int, float]]] = {}

    async def ratios_of(self, chart: Row[Any]) -> Mapping[int, float]:
        """How many times as long as on the CPU, by the id of the case."""
        key = chart.campaign_id, chart.suite_id
        if key not in self._by_target:
            self._by_target[key] = await store.ratios(self._connection, *key, self._functions)
        return self._by_target[key].get(chart.target_id, {})


def _without_cases(rows: Sequence[Row[Any]]) -> Iterator[TargetEvidence]:
    """Of each target an evidence that holds no function, and says when it was charted last."""
    for row in {_key(row): row for row in reversed(rows)}.values():
        yield _chart_of(row, {}, (), {}).target


def _key(row: Row[Any]) -> TargetKey:
    return TargetKey(row.framework, row.version, row.device, row.hardware, row.simulated)


def _chart_of(
    chart: Row[Any], digests: Mapping[str, str | None], rows: Sequence[Row[Any]], ratios: Mapping[int, float]
) -> Charted:
    functions: dict[str, list[CaseEvidence]] = defaultdict(list)
    for row in rows:
        options = None if row.options is None else stored_options(row.options)
        case = RunCase(row.name, frozenset(row.tags), options, row.host_only)
        evidence = case_evidence(case, _runs(row), 0, ratios.get(row.case_id))
        if evidence is not None:
            functions[row.function].append(evidence)
    target = TargetEvidence(
        framework=chart.framework,
        version=chart.version,
        device=chart.device,
        device_class=DeviceClass(chart.device_class),
        hardware=chart.hardware,
        charts=(Chart(chart.suite, chart.revision, chart.at, chart.campaign_id, chart.repeat, chart.signed_by),),
        functions={name: tuple(cases) for name, cases in functions.items()},
        simulated=chart.simulated,
        notes=tuple(chart.notes),
    )
    return Charted(target, digests)


def _runs(row: Row[Any]) -> list[Run]:
    messages = row.messages or [None] * len(row.verdicts)
    return [
        Run(Verdict(verdict), Placement(placement), None if cause is None else Cause(cause), Ending(ending), message)
        for verdict, placement, cause, ending, message in zip(
            row.verdicts, row.placements, row.causes, row.endings, messages, strict=True
        )
    ]
