"""The coordinator's application: routes, errors, and the dispatcher that lives beside them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version

from fastapi import APIRouter, FastAPI

from coordinator import health, problems
from coordinator.bundles.api import router as bundles
from coordinator.campaigns.api import router as campaigns
from coordinator.catalogue.api import router as catalogue
from coordinator.causes.api import router as review
from coordinator.context import Shared
from coordinator.database.pools import make_pools
from coordinator.dispatch.dispatcher import Dispatcher
from coordinator.registry.api import router as runners
from coordinator.reports.api import router as reports
from coordinator.reports.charts.renderer import Renderer
from coordinator.results import service as matrices
from coordinator.results.api import router as matrix
from coordinator.results.comparison.api import router as comparison
from coordinator.results.outcomes.api import router as outcomes
from coordinator.settings import Settings
from coordinator.supervision import Supervisor, end
from coordinator.web import site
from protocol.problems import problem_responses


def create_app(settings: Settings | None = None) -> FastAPI:
    """The application over an upgraded database; ``settings`` default to the environment's."""
    settings = settings or Settings.from_environment()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        pools = make_pools(settings.database_url, settings.statement_timeout_s)
        supervisor = Supervisor()
        dispatcher = Dispatcher(pools, settings.database_url, settings.identity, supervisor)
        renderer = Renderer(settings.figures)
        app.state.shared = Shared(
            pools.requests, dispatcher, settings.database_url, settings.enrolment_secret_file, renderer, supervisor
        )
        dispatching = supervisor.start("dispatch", dispatcher.run)
        keeping = supervisor.start("matrices", lambda: matrices.refresh_forever(pools.requests))
        try:
            yield
        finally:
            # Not bounded from here: each of its parts is.
            dispatching.cancel()
            await asyncio.wait([dispatching])
            await end(keeping)
            await renderer.close()
            await pools.dispose()

    app = FastAPI(
        title="Portolan",
        version=version("portolan"),
        description="Charts which functions of an ML framework reach which accelerators, and how well.",
        lifespan=lifespan,
        # Theirs ask other machines for their scripts; ours is web/rest.py.
        docs_url=None,
        redoc_url=None,
    )
    problems.install(app)
    api = APIRouter(prefix="/api/v1", responses=problem_responses(422, 503))
    for router in (campaigns, bundles, outcomes, matrix, comparison, reports, review, runners, catalogue):
        api.include_router(router)
    app.include_router(api)
    app.include_router(health.router)
    site.install(app)

    return app
