"""Coverage: the share of each framework release that a campaign has charted, unweighted and weighted by use."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from datetime import datetime

from sqlalchemy.ext.asyncio import AsyncEngine

from coordinator.campaigns import service as campaigns
from coordinator.catalogue.models import CampaignCoverage, Coverage
from coordinator.catalogue.releases import nearest
from coordinator.catalogue.service import shipped_coverage
from coordinator.catalogue.surfaces import ROOTS
from coordinator.results import service as matrix
from coordinator.results import store
from coordinator.results.report_data import ReportData

ChartedFunctions = Mapping[tuple[str, str], Collection[str]]
"""The functions with a case that counts or was lowered, by framework and version."""

MOST_RECENT = 32
_recent: dict[tuple[int, str, datetime | None], list[Coverage]] = {}
"""Recent results by campaign, suite and time of the matrix. Every view of a page needs them."""


async def of_campaign(engine: AsyncEngine, campaign_id: int) -> CampaignCoverage:
    campaign = await campaigns.detail(engine, campaign_id)
    await matrix.ensure_fresh(engine, campaign_id)
    return CampaignCoverage(campaign_id=campaign_id, releases=await of_matrix(engine, campaign_id, campaign.suite))


async def of_matrix(engine: AsyncEngine, campaign_id: int, suite: str) -> list[Coverage]:
    """The coverage of each release by a campaign, from the stored matrix."""
    async with engine.connect() as connection:
        # Read the key before the functions, so that the coverage can be newer than its key but never older.
        key = campaign_id, suite, await store.made_at(connection, campaign_id)
        if (recent := _recent.get(key)) is not None:
            return recent
        rows = await store.charted_functions(connection, campaign_id, list(ROOTS))
    functions_by_release: dict[tuple[str, str], set[str]] = {}
    for row in rows:
        functions_by_release.setdefault((row.framework, row.version), set()).add(row.function)
    # In a thread: the first use of a surface reads its file, which takes a moment.
    coverage_list = await asyncio.to_thread(coverages, suite, functions_by_release)
    _recent[key] = coverage_list
    while len(_recent) > MOST_RECENT:
        del _recent[next(iter(_recent))]
    return coverage_list


def of_report(suite: str, data: ReportData) -> list[Coverage]:
    """The coverage of each release by a campaign, from the rows of a report, which come from one snapshot."""
    targets = {target.id: (target.framework, target.version) for target in data.targets}
    functions_by_release: dict[tuple[str, str], set[str]] = {}
    for row in data.verdicts:
        if row.anywhere.total or row.lowering is not None:
            functions_by_release.setdefault(targets[row.target_id], set()).add(row.function)
    return coverages(suite, functions_by_release)


def coverages(suite: str, functions_by_release: ChartedFunctions) -> list[Coverage]:
    """The coverage of each charted release, compared with the public surface of this release (the list of its public
    names). If Portolan does not ship this surface, the nearest shipped surface is used.
    """
    release_coverages = []
    for (framework, version), functions in sorted(functions_by_release.items()):
        name, charted_release = nearest(framework, version), f"{framework}@{version}"
        if name is not None:
            instead_of = charted_release if name != charted_release else None
            release_coverages.append(shipped_coverage(suite, frozenset(functions), name, instead_of))
    return release_coverages
