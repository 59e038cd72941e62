"""Computes the coverage of shipped releases by the suites that runners serve."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from functools import lru_cache

from sqlalchemy.ext.asyncio import AsyncEngine

from coordinator.catalogue import store
from coordinator.catalogue.coverage import coverage, suites_coverage
from coordinator.catalogue.models import Coverage, CoverageList, ReleaseCoverage, SuiteCases
from coordinator.catalogue.releases import shipped_release
from coordinator.catalogue.surfaces import shipped_releases
from coordinator.errors import NotFoundError


async def suite_cases(
    engine: AsyncEngine, suite_id: int, function: str | None, *, offset: int, limit: int
) -> SuiteCases:
    async with engine.connect() as connection:
        suite, cases = await store.suite_cases(connection, suite_id, function, offset=offset, limit=limit)
    if suite is None:
        raise NotFoundError(
            f"there is no suite {suite_id}: `portolan delete suite` without an id lists the stored suites"
        )
    following = offset + limit if len(cases) == limit else None
    return SuiteCases.model_validate({**suite._mapping, "cases": [case._mapping for case in cases], "next": following})


async def coverage_of_suites(engine: AsyncEngine) -> CoverageList:
    async with engine.connect() as connection:
        rows = await store.charted_names(connection)
    suite_functions: dict[tuple[str, str], set[str]] = {}
    for row in rows:
        suite_functions.setdefault((row.suite, row.framework), set()).add(row.function)
    # A thread is used, because reading a surface takes long the first time.
    return await asyncio.to_thread(coverage_list, suite_functions)


def coverage_list(suite_functions: Mapping[tuple[str, str], Collection[str]]) -> CoverageList:
    """The coverage of each shipped release of a framework for which there are suites."""
    coverages = (
        _of_release(
            name,
            frozenset(
                (suite, of, frozenset(names)) for (suite, of), names in suite_functions.items() if of == framework
            ),
        )
        for name in shipped_releases()
        for framework in [name.partition("@")[0]]
    )
    return CoverageList(releases=[coverage for coverage in coverages if coverage is not None])


# The coverages are cached, because every page needs them, and they change only when suites change or a campaign runs.
@lru_cache(maxsize=8)
def _of_release(name: str, suite_functions: frozenset[tuple[str, str, frozenset[str]]]) -> ReleaseCoverage | None:
    return suites_coverage(
        {(suite, framework): names for suite, framework, names in suite_functions}, shipped_release(name)
    )


@lru_cache(maxsize=32)
def shipped_coverage(suite: str, functions: frozenset[str], release: str, instead_of: str | None) -> Coverage:
    """The coverage of a release that ships with Portolan by the charted functions of a suite."""
    return coverage(suite, functions, shipped_release(release), instead_of)
