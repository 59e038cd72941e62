"""Runners over HTTP."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Response, status

from coordinator.context import Context
from coordinator.fleet import service
from coordinator.fleet.models import Runner, RunnerList, RunnerRegistration

router = APIRouter(prefix="/runners", tags=["runners"])

RunnerId = Annotated[int, Path(ge=1, le=2**31 - 1)]


@router.post("", status_code=status.HTTP_201_CREATED)
async def register(registration: RunnerRegistration, context: Context) -> Runner:
    """Probe the runner and put it on the chart. Registering its URL again updates it."""
    runner = await service.register(context.engine, registration)
    await context.dispatcher.announce("runners")
    return runner


@router.get("")
async def listed(context: Context) -> RunnerList:
    return RunnerList(runners=await service.listed(context.engine))


@router.get("/{runner_id}")
async def detail(runner_id: RunnerId, context: Context) -> Runner:
    return await service.get(context.engine, runner_id)


@router.delete("/{runner_id}", status_code=status.HTTP_204_NO_CONTENT)
async def remove(runner_id: RunnerId, context: Context) -> Response:
    """Take the runner off the chart; its jobs go back to the queue, its outcomes stay."""
    await service.remove(context.engine, runner_id)
    await context.dispatcher.announce("runners")
    return Response(status_code=status.HTTP_204_NO_CONTENT)
