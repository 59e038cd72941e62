"""Readers of charts in the database: which cases their suites have, and how those ended.

Whole charts are as large as the database, so that they are read one after the other. Of some functions all charts are
read at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from sqlalchemy import Row
from sqlalchemy.ext.asyncio import AsyncConnection

from coordinator.assess import store
from coordinator.assess.merging import CaseIndex
from coordinator.assess.store import ChartKey

Ratios = Mapping[int, float]
"""How many times as long as on the CPU, by the id of the case."""


class ChartReader(Protocol):
    """Reads charts, which are rows of ``store.charts``."""

    async def cases(self, chart: Row[Any]) -> CaseIndex:
        """The cases that the chart may have outcomes of."""

    async def ends(self, chart: Row[Any]) -> Sequence[Row[Any]]:
        """How its cases ended."""

    async def runs(self, chart: Row[Any]) -> Sequence[Row[Any]]:
        """How its cases ended, with options, messages and tags."""

    async def ratios(self, chart: Row[Any]) -> Ratios:
        """The ratios of its cases."""


class WholeCharts:
    """Reads all functions of a chart.

    The cases of a suite are read once, since most campaigns of an instance chart the same suites.
    """

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection
        self._cases: dict[int, CaseIndex] = {}
        self._ratios = _CampaignRatios(connection, None)

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

    async def ratios(self, chart: Row[Any]) -> Ratios:
        return await self._ratios.of(chart)


class FunctionCharts:
    """Reads some functions of many charts: with one query how all their cases ended."""

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
        self._ratios = _CampaignRatios(connection, functions)

    @classmethod
    async def open(
        cls, connection: AsyncConnection, functions: Sequence[str], charts: Sequence[Row[Any]]
    ) -> FunctionCharts:
        """A reader of these charts."""
        suite_ids = {chart.suite_id for chart in charts}
        digests = await store.digests_of_functions(connection, suite_ids, functions)
        return cls(connection, functions, digests, await store.ends_of_functions(connection, charts, functions))

    async def cases(self, chart: Row[Any]) -> CaseIndex:
        functions = {row.name: row.function for row in await self.ends(chart)}
        return CaseIndex(functions, self._digests.get(chart.suite_id, {}))

    async def ends(self, chart: Row[Any]) -> Sequence[Row[Any]]:
        return self._ends.get((chart.campaign_id, chart.target_id), ())

    async def runs(self, chart: Row[Any]) -> Sequence[Row[Any]]:
        by_chart = await store.runs_of_functions(self._connection, [chart], self._functions)
        return by_chart[chart.campaign_id, chart.target_id]

    async def ratios(self, chart: Row[Any]) -> Ratios:
        return await self._ratios.of(chart)


class _CampaignRatios:
    """Reads the ratios of each campaign once: which CPU is nearest to a target is decided among all of its targets."""

    def __init__(self, connection: AsyncConnection, functions: Sequence[str] | None) -> None:
        self._connection = connection
        self._functions = functions
        self._by_campaign: dict[tuple[int, int], Mapping[int, Ratios]] = {}

    async def of(self, chart: Row[Any]) -> Ratios:
        key = chart.campaign_id, chart.suite_id
        if key not in self._by_campaign:
            self._by_campaign[key] = await store.ratios(self._connection, *key, self._functions)
        return self._by_campaign[key].get(chart.target_id, {})
