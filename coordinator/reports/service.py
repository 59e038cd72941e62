"""A campaign's tables, figures and report: read in one moment, computed beside the event loop."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from sqlalchemy.ext.asyncio import AsyncEngine

from coordinator.campaigns import service as campaigns
from coordinator.campaigns.models import CampaignDetail
from coordinator.errors import NotFoundError, RequestError, UnknownNameError
from coordinator.reference import service as references
from coordinator.reference.models import REFERENCE_OF
from coordinator.reports import latencies, placements, portability
from coordinator.reports.charts.figure import Figure
from coordinator.reports.charts.gallery import figures
from coordinator.reports.charts.renderer import Renderer
from coordinator.reports.charts.theme import of_both
from coordinator.reports.latencies import INTOLERABLE
from coordinator.reports.report import FAILURES_LISTED, Report
from coordinator.reports.table import Table
from coordinator.results import report_store as store
from coordinator.results.ratios import TargetRatios, comparisons
from coordinator.results.report_data import MEASURES, Measure, Queries, ReportData
from coordinator.results.summary import Section, Summary, summary
from coordinator.targets import store as targets_store
from coordinator.targets.models import Target
from protocol.enums import TimingPolicy

SUITES_OWN = ""
"""The reference of the campaign's suite, if that has one."""
Named = TypeVar("Named", Table, Figure)


@dataclass(frozen=True)
class ReportOptions:
    """What a reader may say of a campaign's tables and figures."""

    reference: str | None = SUITES_OWN
    """The published figures to set the campaign beside; None: none."""
    base: str | None = None
    """The device that others are set against; unless it is said a GPU, else the CPU."""
    factor: float = INTOLERABLE
    """How many times slower is intolerable."""
    measure: Measure | None = None
    """Which latency; unless it is said, as the campaign was timed. ``contents`` refuses what is no measure."""


@dataclass(frozen=True)
class ReportContents:
    """A campaign, its tables and its figures."""

    charted: ReportData
    tables: tuple[Table, ...]
    figures: tuple[Figure, ...]
    compared: tuple[TargetRatios, ...]

    def table(self, id: str) -> Table:
        return _named("table", self.tables, id)

    def figure(self, id: str) -> Figure:
        return _named("figure", self.figures, id)


async def contents(engine: AsyncEngine, campaign_id: int, asked: ReportOptions) -> ReportContents:
    """The study's tables and figures, of this campaign."""
    _check_figures(asked)
    charted = await read(engine, campaign_id, reference=asked.reference, measure=asked.measure)
    _check(asked.base, charted.targets)
    return await asyncio.to_thread(contents_of, charted, asked)


async def check(engine: AsyncEngine, campaign_id: int, asked: ReportOptions) -> None:
    """Raises what ``contents`` would, before anything is computed."""
    _check_figures(asked)
    campaign = await campaigns.detail(engine, campaign_id)
    async with engine.connect() as connection:
        if (name := _reference_of(campaign, asked.reference)) is not None:
            await references.find(connection, name)
            _require_own(campaign, name)
        _check(asked.base, tuple(await targets_store.of_campaign(connection, campaign_id)))


async def report_tables(
    engine: AsyncEngine,
    campaign_id: int,
    *,
    reference: str | None = SUITES_OWN,
    base: str | None = None,
    factor: float = INTOLERABLE,
    measure: Measure | None = None,
) -> list[Table]:
    """The tables alone."""
    return list((await contents(engine, campaign_id, ReportOptions(reference, base, factor, measure))).tables)


async def study(engine: AsyncEngine, name: str) -> ReportContents:
    """A reference alone."""
    async with engine.connect() as connection:
        found = await references.find(connection, name)
    # Its figures came from no query.
    alone = ReportData(name, (), (), (), "paper", found, Queries("", "", "", ""))
    return await asyncio.to_thread(contents_of, alone, ReportOptions(name))


async def report(engine: AsyncEngine, renderer: Renderer, campaign_id: int, asked: ReportOptions) -> Report:
    """All that a report says, with its figures drawn."""
    made = await contents(engine, campaign_id, asked)
    campaign = await campaigns.detail(engine, campaign_id)
    async with engine.connect() as connection:
        failures = await store.failures(connection, campaign_id, FAILURES_LISTED + 1)
        fingerprints = await store.fingerprints(connection, campaign_id)
    drawn = [(each.id, each.bare) for each in made.figures if each.bare is not None]
    pictures = await renderer.draw([bare for _, bare in drawn], "svg")
    return Report(
        campaign=campaign,
        charted=made.charted,
        tables=made.tables,
        figures=made.figures,
        pictures={id: of_both(svg.decode()) for (id, _), svg in zip(drawn, pictures, strict=True)},
        compared=tuple(made.compared),
        tolerable=asked.factor,
        failures=tuple(failures),
        fingerprints=tuple(fingerprints),
    )


async def summary_of(
    engine: AsyncEngine, campaign_id: int, asked: ReportOptions, *, function: str | None, device: str | None
) -> Summary:
    """The sentences of the report; of a part of the campaign if a glob of functions or a device is given."""
    await check(engine, campaign_id, asked)
    campaign = await campaigns.detail(engine, campaign_id)
    charted = await read(engine, campaign_id, reference=None, measure=asked.measure)
    if function is not None:
        charted = charted.narrowed(function)

    def sections() -> tuple[Section, ...]:
        whole, *targets = summary(campaign, charted, comparisons(charted, asked.base), asked.factor)
        if function is None and device is None:
            return (whole, *targets)
        on_device = zip(charted.targets, targets, strict=True)
        return tuple(section for target, section in on_device if device in (None, target.device))

    return Summary(sections=await asyncio.to_thread(sections))


async def read(
    engine: AsyncEngine, campaign_id: int, *, reference: str | None = SUITES_OWN, measure: Measure | None = None
) -> ReportData:
    """Everything that the tables are made of. While a campaign runs, all of it is of the same moment."""
    detail = await campaigns.detail(engine, campaign_id)
    measured: Measure = measure or ("paper" if detail.timing is TimingPolicy.paper else "steady")
    asked = store.queries(campaign_id, measured)
    async with engine.connect() as connection:
        await connection.execution_options(isolation_level="REPEATABLE READ")
        beside = None
        if (name := _reference_of(detail, reference)) is not None:
            beside = await references.find(connection, name)
            _require_own(detail, name)
        return ReportData(
            name=f"campaign {campaign_id}",
            targets=tuple(await targets_store.of_campaign(connection, campaign_id)),
            verdicts=tuple(await store.verdicts(connection, asked)),
            latencies=tuple(await store.latencies(connection, asked)),
            measure=measured,
            reference=beside,
            queries=asked,
            placements=tuple(await store.placements(connection, asked)),
            first_calls=tuple(await store.first_calls(connection, asked)),
            cpu_bases=await store.cpu_bases(connection, campaign_id),
        )


def contents_of(charted: ReportData, asked: ReportOptions) -> ReportContents:
    """Everything that follows from what was read. Pure."""
    compared = comparisons(charted, asked.base)
    made = _tables(charted, compared, asked.factor)
    drawn = figures(charted, made, asked.factor)
    return ReportContents(charted, tuple(made), tuple(drawn), tuple(compared))


def _named(kind: str, found: Sequence[Named], id: str) -> Named:
    named = next((one for one in found if one.id == id), None)
    if named is None:
        raise NotFoundError(f"no {kind} is called {id!r}; there are: {', '.join(one.id for one in found)}")
    return named


def _tables(charted: ReportData, compared: Sequence[TargetRatios], factor: float) -> list[Table]:
    """In the order in which a report tells them."""
    found = [portability.portability(charted), portability.counts(charted)]
    if charted.reference is not None:
        # How often a function is used is known from the study's sample only.
        found += [
            portability.top20(charted, charted.reference),
            portability.failures_in_top20(charted, charted.reference),
            portability.failures_by_decile(charted, charted.reference),
        ]
    return [
        *found,
        portability.causes(charted),
        placements.placements(charted),
        latencies.extremes(charted, compared),
        latencies.latencies(charted, compared),
        latencies.faster(charted, compared),
        latencies.intolerable(charted, compared, factor),
        latencies.intolerable_functions(charted, compared, factor),
        latencies.scatter(charted, compared),
        latencies.densities(charted),
        latencies.latency_deciles(charted),
        placements.first_calls(charted),
    ]


def _reference_of(campaign: CampaignDetail, name: str | None) -> str | None:
    return REFERENCE_OF.get(campaign.suite) if name == SUITES_OWN else name


def _require_own(campaign: CampaignDetail, reference: str) -> None:
    """Figures of another suite's functions are no measure of this one's."""
    if REFERENCE_OF.get(campaign.suite) != reference:
        suites = ", ".join(repr(suite) for suite, own in REFERENCE_OF.items() if own == reference)
        raise RequestError(
            f"the reference {reference!r} is of the suite {suites}, and campaign {campaign.id} ran {campaign.suite!r}: "
            "leave the reference out"
        )


def _check_figures(asked: ReportOptions) -> None:
    if not (math.isfinite(asked.factor) and asked.factor > 1):
        raise RequestError(f"a latency is intolerable from more than 1 time slower, not from {asked.factor:g}")
    if asked.measure is not None and asked.measure not in MEASURES:
        raise UnknownNameError(f"no measure is called {asked.measure!r}; there are: {', '.join(MEASURES)}")


def _check(base: str | None, targets: tuple[Target, ...]) -> None:
    devices = sorted({each.device for each in targets})
    if base is not None and base not in devices:
        raise UnknownNameError(f"no target of this campaign is on the device {base!r}; there are: {', '.join(devices)}")
