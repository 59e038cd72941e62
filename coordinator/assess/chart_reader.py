"""Reads charts from the database. A chart has the outcomes of one campaign on one target: the cases of a suite and
their results.

Whole charts are read one at a time, because all of them together can be as large as the database. If only a few
functions are needed, only the rows of these functions are read, from all charts in one query.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from sqlalchemy import Row
from sqlalchemy.ext.asyncio import AsyncConnection

from coordinator.assess import store
from coordinator.assess.merging import CaseIndex
from coordinator.assess.runs import CaseTimes
from coordinator.assess.store import ChartKey

Times = Mapping[int, CaseTimes]
"""The times of cases, by case id."""


class ChartReader(Protocol):
    """Reads charts. Each chart is a row of ``store.charts``."""

    async def cases(self, chart: Row[Any]) -> CaseIndex:
        """The cases that can have outcomes in the chart."""

    async def ends(self, chart: Row[Any]) -> Sequence[Row[Any]]:
        """The results of the chart's cases."""

    async def runs(self, chart: Row[Any]) -> Sequence[Row[Any]]:
        """The results of the chart's cases, with options, messages and tags."""

    async def times(self, chart: Row[Any]) -> Times:
        """The times of the chart's cases."""


class WholeCharts:
    """Reads whole charts: the cases of all functions.

    The cases of each suite are read only once, because most campaigns of a coordinator run the same suites.
    """

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection
        self._cases: dict[int, CaseIndex] = {}
        self._times: dict[int, store.Times] = {}

    async def cases(self, chart: Row[Any]) -> CaseIndex:
        if chart.suite_id not in self._cases:
            rows = await store.cases(self._connection, chart.suite_id)
            self._cases[chart.suite_id] = CaseIndex(
                {row.name: row.function for row in rows}, {row.name: row.digest for row in rows}
            )
        return self._cases[chart.suite_id]

    async def ends(self, chart: Row[Any]) -> Sequence[Row[Any]]:
        return await store.ends(self._connection, chart)

    async def runs(self, chart: Row[Any]) -> Sequence[Row[Any]]:
        return await store.runs(self._connection, chart)

    async def times(self, chart: Row[Any]) -> Times:
        # All targets of the campaign are needed to decide which CPU is nearest to a target.
        if chart.campaign_id not in self._times:
            self._times[chart.campaign_id] = await store.times(self._connection, chart.campaign_id)
        return self._times[chart.campaign_id].get(chart.target_id, {})


class FunctionCharts:
    """Reads the cases of some functions from many charts. One query reads the results in all charts. Further queries
    read details and times, in advance only from the charts that have the newest results."""

    def __init__(
        self,
        connection: AsyncConnection,
        functions: Sequence[str],
        digests: Mapping[int, Mapping[str, str | None]],
        ends: Mapping[ChartKey, Sequence[Row[Any]]],
    ) -> None:
        self._connection = connection
        self._functions = functions
        self._digests = digests
        self._ends = ends
        self._runs: dict[ChartKey, Sequence[Row[Any]]] = {}
        self._times: dict[int, store.Times] = {}

    @classmethod
    async def open(
        cls, connection: AsyncConnection, functions: Sequence[str], charts: Sequence[Row[Any]]
    ) -> FunctionCharts:
        """Open a reader for these charts, which are ordered from the newest to the oldest."""
        suite_ids = {chart.suite_id for chart in charts}
        digests = await store.digests_of_functions(connection, suite_ids, functions)
        ends = await store.ends_of_functions(connection, charts, functions)
        reader = cls(connection, functions, digests, ends)
        await reader._read_in_full(_leading(charts, ends))
        return reader

    async def cases(self, chart: Row[Any]) -> CaseIndex:
        functions = {row.name: row.function for row in await self.ends(chart)}
        return CaseIndex(functions, self._digests.get(chart.suite_id, {}))

    async def ends(self, chart: Row[Any]) -> Sequence[Row[Any]]:
        return self._ends.get(_key(chart), ())

    async def runs(self, chart: Row[Any]) -> Sequence[Row[Any]]:
        # A chart that was not read in advance is needed if no run of a case in a newer chart counts.
        if _key(chart) not in self._runs:
            await self._read_in_full([chart])
        return self._runs[_key(chart)]

    async def times(self, chart: Row[Any]) -> Times:
        return self._times[chart.campaign_id].get(chart.target_id, {})

    async def _read_in_full(self, charts: Sequence[Row[Any]]) -> None:
        runs = await store.runs_of_functions(self._connection, charts, self._functions)
        self._runs |= {_key(chart): runs[_key(chart)] for chart in charts}
        campaign_ids = {chart.campaign_id for chart in charts}
        self._times |= await store.times_of_functions(self._connection, campaign_ids, self._functions)


def _leading(charts: Sequence[Row[Any]], ends: Mapping[ChartKey, Sequence[Row[Any]]]) -> list[Row[Any]]:
    """The charts with at least one case that no newer chart of the same target and suite has. The newest chart comes
    first."""
    leading = []
    names_of: dict[tuple[object, ...], set[str]] = defaultdict(set)
    for chart in charts:
        names = {row.name for row in ends.get(_key(chart), ())}
        newer_names = names_of[
            chart.framework, chart.version, chart.device, chart.hardware, chart.simulated, chart.suite
        ]
        if not names <= newer_names:
            leading.append(chart)
        newer_names |= names
    return leading


def _key(chart: Row[Any]) -> ChartKey:
    return chart.campaign_id, chart.target_id
