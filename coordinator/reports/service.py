"""Makes a campaign's tables, figures and report. The data are read in one snapshot, and computed outside of the event
loop."""

from __future__ import annotations

import asyncio
import math
from dataclasses import replace
from typing import cast

from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from coordinator.campaigns import service as campaigns
from coordinator.campaigns.models import CampaignDetail
from coordinator.errors import RequestError, UnknownNameError
from coordinator.http.context import ChartRenderer
from coordinator.reference import service as references
from coordinator.reference.models import REFERENCE_OF, Reference
from coordinator.reports.charts.theme import of_both
from coordinator.reports.contents import ReportContents, contents_of
from coordinator.reports.options import NO_REFERENCE, SUITES_OWN, ReportOptions
from coordinator.reports.report import FAILURES_LISTED, CampaignReport
from coordinator.results import condition_rows, coverage
from coordinator.results import report_store as store
from coordinator.results import service as matrix
from coordinator.results.known_names import check_filters
from coordinator.results.ratios import comparisons
from coordinator.results.report_data import MEASURES, Measure, Queries, ReportData
from coordinator.results.summary import Section, Summary, named_with_condition, summary
from coordinator.targets import store as targets
from protocol.enums import TimingPolicy


async def contents(
    engine: AsyncEngine, campaign_id: int, options: ReportOptions, *, with_figures: bool = True
) -> ReportContents:
    """Return the study's tables and figures for this campaign."""
    data = await read(engine, campaign_id, options)
    return await asyncio.to_thread(contents_of, data, options, with_figures=with_figures)


async def check(engine: AsyncEngine, campaign_id: int, options: ReportOptions) -> None:
    """Raise the errors that ``contents`` would raise for these options, before anything is computed."""
    campaign = await campaigns.detail(engine, campaign_id)
    async with engine.connect() as connection:
        await _reference(options, campaign, connection)


async def study(engine: AsyncEngine, name: str) -> ReportContents:
    """Return the tables and figures of a reference without a campaign."""
    async with engine.connect() as connection:
        reference = await references.find(connection, name)
    # No query returned the study's numbers.
    alone = ReportData(name, (), (), (), "paper", reference, Queries("", "", "", ""))
    return await asyncio.to_thread(contents_of, alone, ReportOptions(name))


async def report(
    engine: AsyncEngine, renderer: ChartRenderer, campaign_id: int, options: ReportOptions
) -> CampaignReport:
    """Make a report's data, and draw its figures."""
    report_contents = await contents(engine, campaign_id, options)
    campaign = await campaigns.detail(engine, campaign_id)
    async with engine.connect() as connection:
        failures = await store.failures(connection, campaign_id, FAILURES_LISTED + 1)
        fingerprints = await store.fingerprints(connection, campaign_id)
    specs = {figure.id: figure.bare for figure in report_contents.figures if figure.bare is not None}
    images = await renderer.draw(list(specs.values()), "svg")

    def pictures() -> dict[str, str]:
        return {id: of_both(svg.decode()) for id, svg in zip(specs, images, strict=True)}

    return CampaignReport(
        campaign=campaign,
        contents=report_contents,
        pictures=await asyncio.to_thread(pictures),
        tolerable=options.tolerable,
        failures=failures,
        fingerprints=fingerprints,
    )


async def summary_of(
    engine: AsyncEngine, campaign_id: int, options: ReportOptions, *, function: str | None, device: str | None
) -> Summary:
    """Return the sentences of the report. A device, or a glob of function names, limits the sentences to a part of the
    campaign."""
    await check(engine, campaign_id, options)
    campaign = await campaigns.detail(engine, campaign_id)
    async with engine.connect() as connection:
        await check_filters(connection, campaign_id, function=function, device=device)
    data = await read(engine, campaign_id, replace(options, reference=NO_REFERENCE))
    if function is not None:
        data = data.narrow(function)

    def sections() -> tuple[Section, ...]:
        # The sentences do not mention intervals of ratios.
        ratios = comparisons(data, options.reference_device or None, with_intervals=False)
        whole, *targets = summary(campaign, data, ratios, options.tolerable)
        if function is None and device is None:
            return (whole, *targets)
        on_device = zip(data.targets, targets, strict=True)
        return tuple(section for target, section in on_device if device in (None, target.device))

    return Summary(sections=await asyncio.to_thread(sections))


async def read(engine: AsyncEngine, campaign_id: int, options: ReportOptions) -> ReportData:
    """Read the data from which the tables are made. They are up to date, and from one snapshot, even while a campaign
    runs."""
    campaign = await campaigns.detail(engine, campaign_id)
    await matrix.ensure_fresh(engine, campaign_id, at_any_size=True)
    measure = cast(Measure, options.measure or ("paper" if campaign.timing is TimingPolicy.paper else "level"))
    async with engine.connect() as connection:
        await connection.execution_options(isolation_level="REPEATABLE READ")
        reference = await _reference(options, campaign, connection)
        data = await store.read(connection, campaign_id, measure, reference)
        conditions = await condition_rows.of_functions(connection, campaign_id, named_with_condition(data))
    coverages = await asyncio.to_thread(coverage.of_report, campaign.suite, data)
    sample = await campaigns.sample(engine, campaign_id) if campaign.sample is not None else None
    by_target = {(target_id, function): condition for (_, function, target_id), condition in conditions.items()}
    return replace(data, coverages=tuple(coverages), sample=sample, conditions=by_target)


async def _reference(options: ReportOptions, campaign: CampaignDetail, connection: AsyncConnection) -> Reference | None:
    """Return the reference that the options name. Raises an error if any option is invalid."""
    if not (math.isfinite(options.tolerable) and options.tolerable > 1):
        raise RequestError(
            f"the limit for intolerable latencies is {options.tolerable:g}: give a factor above 1, such as 10"
        )
    if options.measure and options.measure not in MEASURES:
        raise UnknownNameError(f"there is no measure {options.measure!r}; choose one of: {', '.join(MEASURES)}")
    own = REFERENCE_OF.get(campaign.suite)
    name = {SUITES_OWN: own, NO_REFERENCE: None}.get(options.reference, options.reference)
    reference = None if name is None else await references.find(connection, name)
    if name not in (None, own):
        # Results for functions of another suite cannot be compared with this campaign's.
        suites = ", ".join(repr(suite) for suite, reference_of_it in REFERENCE_OF.items() if reference_of_it == name)
        raise RequestError(
            f"the reference {name!r} is of the suite {suites}, and campaign {campaign.id} ran {campaign.suite!r}: "
            "leave the reference out"
        )
    devices = sorted({target.device for target in await targets.of_campaign(connection, campaign.id)})
    if options.reference_device and options.reference_device not in devices:
        raise UnknownNameError(
            f"no target of this campaign is on the device {options.reference_device!r}; "
            f"choose one of: {', '.join(devices)}"
        )
    return reference
