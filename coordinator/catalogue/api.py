"""The catalogue over HTTP: what can be charted."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import BaseModel

from coordinator.catalogue import store
from coordinator.context import Context
from coordinator.targets.selectors import spelled

router = APIRouter(prefix="/catalogue", tags=["catalogue"])


class CatalogueFunction(BaseModel):
    function: str
    cases: int
    host_only: str | None
    """Why it never touches a device, or null."""


class CatalogueSuite(BaseModel):
    suite: str
    framework: str
    revision: str
    targets: list[str]
    functions: list[CatalogueFunction]


class Catalogue(BaseModel):
    suites: list[CatalogueSuite]


@router.get("")
async def catalogue(context: Context) -> Catalogue:
    """Every suite that a registered runner serves, with its functions."""
    async with context.engine.connect() as connection:
        functions = await store.offered_functions(connection)
        targets = await store.serving_targets(connection)
    suites: dict[int, CatalogueSuite] = {}
    for row in functions:
        suite = suites.setdefault(
            row.suite_id,
            CatalogueSuite(
                suite=row.suite,
                framework=row.framework,
                revision=row.revision,
                targets=[spelled(t) for t in targets if t.suite_id == row.suite_id],
                functions=[],
            ),
        )
        suite.functions.append(CatalogueFunction(function=row.function, cases=row.cases, host_only=row.host_only))
    return Catalogue(suites=list(suites.values()))
