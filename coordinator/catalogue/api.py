"""The catalogue over HTTP: every suite that can be charted."""

from __future__ import annotations

from itertools import groupby
from operator import attrgetter

from fastapi import APIRouter

from coordinator.catalogue import store
from coordinator.catalogue.models import Catalogue, CatalogueSuite
from coordinator.context import Context
from coordinator.targets.selectors import spelled

router = APIRouter(prefix="/catalogue", tags=["catalogue"])


@router.get("")
async def catalogue(context: Context) -> Catalogue:
    """Every suite that a registered runner serves, with its functions."""
    async with context.engine.connect() as connection:
        functions = await store.offered_functions(connection)
        targets = await store.serving_targets(connection)
    suites = []
    for suite_id, group in groupby(functions, key=attrgetter("suite_id")):
        rows = [row._mapping for row in group]
        served = [spelled(target) for target in targets if target.suite_id == suite_id]
        suites.append(CatalogueSuite.model_validate({**rows[0], "targets": served, "functions": rows}))
    return Catalogue(suites=suites)
