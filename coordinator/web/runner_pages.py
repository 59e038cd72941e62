"""The pages of runners: the list, one runner, and removing it. ``registration.py`` registers runners."""

from __future__ import annotations

from typing import Any

from fastapi import Request, Response, status
from fastapi.responses import RedirectResponse

from coordinator.access.caller import needs
from coordinator.access.roles import Role
from coordinator.http.context import Context
from coordinator.http.parameters import RunnerId
from coordinator.http.routers import PageRouter
from coordinator.registry import service
from coordinator.registry.models import Runner
from coordinator.web.pages import page

router = PageRouter()

RECENT = 25
"""The maximum number of jobs and outcomes on a runner's page."""
HAS_PLACE = frozenset({"notes", "libraries", "hardware", "environment", "image"})
"""Members of the fingerprint that the page shows in their own places."""


@router.get("/runners")
async def list_runners(request: Request, context: Context) -> Response:
    waiting = await service.waiting(context.engine)
    data: list[dict[str, Any]] = [
        {"runner": runner, "waiting": waiting.get(runner.id, 0)}
        for runner in await service.list_runners(context.engine)
    ]
    return page(request, "runners.html", data, rows=[_row(**runner) for runner in data])


@router.get("/runners/{runner_id}")
async def show_runner(request: Request, runner_id: RunnerId, context: Context) -> Response:
    runner = await service.get(context.engine, runner_id)
    work = await service.work(context.engine, runner_id, RECENT)
    waiting = (await service.waiting(context.engine)).get(runner_id, 0)
    # Members of a later protocol are shown as they are.
    facts = {
        name: str(value)
        for name, value in runner.fingerprint.items()
        if name not in HAS_PLACE and value not in (None, "", [], {})
    }
    return page(
        request,
        "runner.html",
        {"runner": runner, "waiting": waiting, "work": work},
        rows=[outcome.model_dump(mode="json") for outcome in work.recent],
        facts=facts,
        registered=request.query_params.get("registered"),
    )


@router.get("/runners/{runner_id}/remove", dependencies=[needs(Role.operator)])
async def confirm_removal(request: Request, runner_id: RunnerId, context: Context) -> Response:
    return page(request, "remove.html", await service.get(context.engine, runner_id))


@router.post("/runners/{runner_id}/remove", dependencies=[needs(Role.operator)])
async def remove(runner_id: RunnerId, context: Context) -> Response:
    await service.remove(context.engine, runner_id)
    await context.announce("runners")
    return RedirectResponse("/runners", status.HTTP_303_SEE_OTHER)


def _row(runner: Runner, waiting: int) -> dict[str, Any]:
    """The runner's row of the csv."""
    image = runner.fingerprint.get("image")
    suites = "; ".join(f"{name} {revision}" for name, revision in sorted(runner.suites.items()))
    values = runner.model_dump(mode="json", exclude={"fingerprint", "suites"})
    return {**values, "waiting": waiting, "image": None if image is None else str(image), "suites": suites}
