"""Runners: all of them, the page of one, and taking one off the chart. Registering is in ``registration.py``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Depends, Request, Response, status
from fastapi.responses import RedirectResponse

from coordinator.context import Context
from coordinator.parameters import RunnerId
from coordinator.registry import service
from coordinator.registry.models import Runner, Work
from coordinator.web.pages import page, same_site

router = APIRouter()

RECENT = 25
"""Jobs and outcomes on a runner's page."""
_TOLD_ELSEWHERE = frozenset({"notes", "libraries", "hardware", "environment", "image"})


@dataclass(frozen=True, slots=True)
class Line:
    """One runner, and what the table shows of it."""

    runner: Runner
    waiting: int
    """Jobs of its target that nobody has been given yet."""

    @property
    def image(self) -> str | None:
        return image(self.runner)


@dataclass(frozen=True, slots=True)
class Whole:
    """All that a runner's page shows."""

    runner: Runner
    waiting: int
    work: Work


@router.get("/runners")
async def listed(request: Request, context: Context) -> Response:
    waiting = await service.waiting(context.engine)
    lines = [Line(each, waiting.get(each.id, 0)) for each in await service.listed(context.engine)]
    return page(request, "runners.html", lines, rows=[row(each) for each in lines])


@router.get("/runners/{runner_id}")
async def shown(request: Request, runner_id: RunnerId, context: Context) -> Response:
    runner = await service.get(context.engine, runner_id)
    data = Whole(
        runner=runner,
        waiting=(await service.waiting(context.engine)).get(runner_id, 0),
        work=await service.work(context.engine, runner_id, RECENT),
    )
    return page(
        request,
        "runner.html",
        data,
        rows=[each.model_dump(mode="json") for each in data.work.recent],
        image=image(runner),
        facts=facts(runner.fingerprint),
        registered=request.query_params.get("registered"),
    )


@router.get("/runners/{runner_id}/remove")
async def ask_to_remove(request: Request, runner_id: RunnerId, context: Context) -> Response:
    return page(request, "remove.html", await service.get(context.engine, runner_id))


@router.post("/runners/{runner_id}/remove", dependencies=[Depends(same_site)])
async def remove(runner_id: RunnerId, context: Context) -> Response:
    await service.remove(context.engine, runner_id)
    await context.dispatcher.announce("runners")
    return RedirectResponse("/runners", status.HTTP_303_SEE_OTHER)


def image(runner: Runner) -> str | None:
    told = runner.fingerprint.get("image")
    return None if told is None else str(told)


def facts(fingerprint: Mapping[str, Any]) -> dict[str, str]:
    """What else the fingerprint says, as it says it; unknown members of a later protocol too."""
    return {
        name: str(value)
        for name, value in fingerprint.items()
        if name not in _TOLD_ELSEWHERE and value not in (None, "", [], {})
    }


def row(line: Line) -> dict[str, Any]:
    """The runner's line of the csv."""
    told = line.runner.model_dump(mode="json", exclude={"fingerprint", "suites"})
    suites = "; ".join(f"{name} {revision}" for name, revision in sorted(line.runner.suites.items()))
    return {**told, "waiting": line.waiting, "image": line.image, "suites": suites}
