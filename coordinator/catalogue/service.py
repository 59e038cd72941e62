"""The coverage of shipped releases by the suites that runners serve: between the API, the pages and the store."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping

from sqlalchemy.ext.asyncio import AsyncEngine

from coordinator.catalogue import store
from coordinator.catalogue.coverage import suites_coverage
from coordinator.catalogue.models import CoverageList
from coordinator.catalogue.releases import shipped_release
from coordinator.catalogue.surfaces import shipped


async def coverage_of_suites(engine: AsyncEngine) -> CoverageList:
    async with engine.connect() as connection:
        rows = await store.charted_names(connection)
    offered: dict[tuple[str, str], set[str]] = {}
    for row in rows:
        offered.setdefault((row.suite, row.framework), set()).add(row.function)
    # A surface is read when it is first asked for, which takes a moment.
    return await asyncio.to_thread(coverage_list, offered)


def coverage_list(offered: Mapping[tuple[str, str], Collection[str]]) -> CoverageList:
    """The coverage of each shipped release of the frameworks that suites are offered of."""
    frameworks = {framework for _, framework in offered}
    releases = (shipped_release(name) for name in shipped() if name.partition("@")[0] in frameworks)
    found = (suites_coverage(offered, release) for release in releases)
    return CoverageList(releases=[coverage for coverage in found if coverage is not None])
