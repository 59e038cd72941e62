"""The coordinator's web application: routes, error handling, and the dispatcher, which runs in the same process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from importlib.metadata import version

from fastapi import FastAPI

from coordinator.access import guard
from coordinator.access.api import router as access
from coordinator.access.audit import AuditWriter
from coordinator.access.bodies import BodyBounds
from coordinator.access.caller import needs
from coordinator.access.forms.service import FormKey
from coordinator.access.identifier import AdminToken, Identifier
from coordinator.access.listeners import ListenerMiddleware, Listeners
from coordinator.access.middleware import AccessMiddleware
from coordinator.access.roles import Role
from coordinator.access.slots import Slots
from coordinator.access.tokens import digest
from coordinator.assess.api import router as assessment
from coordinator.atlas.keeper import AtlasKeeper
from coordinator.bundles.api import router as bundles
from coordinator.campaigns.api import router as campaigns
from coordinator.campaigns.follower import Follower
from coordinator.catalogue.api import router as catalogue
from coordinator.causes.api import router as review
from coordinator.configuration.settings import Settings
from coordinator.database.pools import make_pools, tell_of_no_room
from coordinator.deletion.api import router as deletion
from coordinator.dispatch.dispatcher import Dispatcher
from coordinator.http import health, problems
from coordinator.http.context import HandlerContext
from coordinator.process.supervision import TaskSupervisor, end
from coordinator.registry.api import router as runners
from coordinator.reports.api import router as reports
from coordinator.reports.charts.renderer import Renderer
from coordinator.results import service as matrices
from coordinator.results.api import router as matrix
from coordinator.results.comparison.api import router as comparison
from coordinator.results.outcomes.api import router as outcomes
from coordinator.web import site
from coordinator.web.pages import problem_page
from protocol.problems import problem_responses


def create_app(settings: Settings | None = None) -> FastAPI:
    """Create the application. The database must be upgraded. The default of ``settings`` is the environment's
    settings."""
    settings = settings or Settings.from_environment()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        pools = make_pools(settings.database_url, settings.statement_timeout_s)
        supervisor = TaskSupervisor(settings.times)
        tell_of_no_room(pools, partial(supervisor.note_fault, "database's disk"))
        dispatcher = Dispatcher(pools, settings.database_url, settings.identity, supervisor, settings.times)
        renderer = Renderer(settings.figures)
        bounds = settings.bounds
        follower = Follower(pools.requests, bounds.streams, bounds.streams_each)
        app.state.shared = HandlerContext(
            pools.requests,
            dispatcher.announce,
            settings.database_url,
            settings.enrolment_key_file,
            renderer,
            supervisor,
            bounds,
            settings.times,
            Slots("exports", bounds.exports, bounds.exports_waiting, each=bounds.exports_each),
            Slots("exports", bounds.exports + bounds.exports_waiting, each=bounds.exports_each),
            Slots("assessments", bounds.assessments, bounds.assessments_waiting, each=bounds.assessments_each),
            follower,
            FormKey(pools.requests),
        )
        atlas = app.state.atlas = AtlasKeeper(pools.requests, settings.database_url)
        atlas.prepare()
        audit = app.state.audit = AuditWriter(pools.requests)
        app.state.identifier = Identifier(pools.requests, *_access_without_token(settings), audit.note_use)
        auditing = supervisor.start("audit", audit.run)
        dispatching = supervisor.start("dispatch", dispatcher.run)
        keeping = supervisor.start("matrices", lambda: matrices.refresh_forever(pools.requests))
        try:
            yield
        finally:
            # There is no time limit here, because each of these steps has its own.
            dispatching.cancel()
            await asyncio.wait([dispatching])
            await end(keeping)
            await follower.close()
            await atlas.close()
            await end(auditing)
            await audit.flush()
            await renderer.close()
            await pools.dispose()

    app = FastAPI(
        title="Portolan",
        version=version("portolan"),
        description="Charts which functions of an ML framework reach which accelerators, and how well.",
        lifespan=lifespan,
        # FastAPI's own pages load scripts from other machines; ours is web/rest.py.
        docs_url=None,
        redoc_url=None,
    )
    problems.install(app, problem_page)
    app.add_middleware(BodyBounds, bounds=settings.bounds)
    app.add_middleware(AccessMiddleware)
    app.add_middleware(ListenerMiddleware, listeners=Listeners(settings.runners_port, settings.rest_address))
    app.add_middleware(problems.CancelledRequests)
    # The routes are added to the application directly, because a router in between would keep a copy of every route.
    responses = problem_responses(400, 401, 403, 408, 413, 415, 421, 422, 429, 503)
    for router in (
        access,
        campaigns,
        deletion,
        bundles,
        outcomes,
        matrix,
        comparison,
        reports,
        review,
        catalogue,
        assessment,
    ):
        app.include_router(router, prefix="/api/v1", dependencies=[needs(Role.viewer)], responses=responses)
    # Runners, which have no role, call one of these routes. So each route names its own role.
    app.include_router(runners, prefix="/api/v1", responses=responses)
    app.include_router(health.router)
    site.install(app)
    guard.install(app, settings.hosts)

    return app


def _access_without_token(settings: Settings) -> tuple[AdminToken | None, Role | None]:
    """The coordinator's own admin token, and the role of callers without a token."""
    token, role = settings.admin_token, settings.anonymous_role
    admin = None if token is None else AdminToken(settings.admin_name, digest(token))
    return admin, None if role is None else Role(role)
