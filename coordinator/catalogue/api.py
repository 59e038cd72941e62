"""HTTP routes of the catalogue: the suites that registered runners serve, and the share of each framework's functions
that these suites chart."""

from __future__ import annotations

from itertools import groupby
from operator import attrgetter
from typing import Annotated

from fastapi import Query

from coordinator.catalogue import service, store
from coordinator.catalogue.models import CoverageList, SuiteCases, SuiteList, SuiteOnTargets
from coordinator.http.context import Context
from coordinator.http.parameters import SuiteId
from coordinator.http.routers import RestRouter
from coordinator.http.storable import LARGEST_INTEGER, LONGEST_NAME, Text
from coordinator.targets.selectors import target_name
from protocol.problems import problem_responses

router = RestRouter(tags=["catalogue"])


@router.get("/catalogue")
async def catalogue(context: Context) -> SuiteList:
    """Return every suite that a registered runner serves, with the functions of the suite."""
    async with context.engine.connect() as connection:
        functions = await store.offered_functions(connection)
        targets = await store.serving_targets(connection)
    suites = []
    for suite_id, group in groupby(functions, key=attrgetter("suite_id")):
        rows = [row._mapping for row in group]
        target_names = [target_name(target) for target in targets if target.suite_id == suite_id]
        suites.append(SuiteOnTargets.model_validate({**rows[0], "targets": target_names, "functions": rows}))
    return SuiteList(suites=suites)


@router.get("/suites/{suite_id}/cases", responses=problem_responses(404))
async def cases(
    suite_id: SuiteId,
    context: Context,
    function: Annotated[
        Text | None, Query(max_length=LONGEST_NAME, description="return only the cases of this function")
    ] = None,
    offset: Annotated[int, Query(ge=0, le=LARGEST_INTEGER, description="the value of `next` on the previous page")] = 0,
    limit: Annotated[int, Query(ge=1, le=5000)] = 500,
) -> SuiteCases:
    """Return cases of a suite. The options of a case show how the case calls its function."""
    return await service.suite_cases(context.engine, suite_id, function, offset=offset, limit=limit)


@router.get("/coverage")
async def coverage(context: Context) -> CoverageList:
    """The share of each release's public functions that the suites of registered runners chart, unweighted and weighted
    by use."""
    return await service.coverage_of_suites(context.engine)
