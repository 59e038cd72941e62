"""The health of this coordinator: liveness, readiness and metrics."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST

from coordinator.http.context import Context
from coordinator.http.problems import problem
from coordinator.process import metrics
from protocol.problems import PROBLEM_JSON, Problem

router = APIRouter(tags=["health"])


@router.get("/healthz")
async def healthz() -> dict[str, str]:
    """Answer 200 if the process can answer at all. The database is not checked, because restarting this process would
    not repair the database."""
    return {"status": "alive"}


@router.get(
    "/readyz",
    response_model=dict[str, str],
    responses={503: {"model": Problem, "content": {PROBLEM_JSON: {}}, "description": "`tasks` names what is down"}},
)
async def readyz(request: Request, context: Context) -> Response | dict[str, str]:
    """Answer 200 if every long-running task works (dispatch, storing, renewal of ownership) and the database's disk is
    not full."""
    down = context.supervisor.down()
    if not down:
        return {"status": "ready"}
    tasks = [{"task": task.task, "since": task.since.isoformat(), "reason": task.reason} for task in down]
    description = "; ".join(f"{task.task} since {task.since:%Y-%m-%d %H:%M:%S} UTC ({task.reason})" for task in down)
    return problem(request, 503, "Not ready", f"down: {description}; they restart by themselves", tasks=tasks)


@router.get("/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}})
async def exposition() -> Response:
    """The metrics in Prometheus' text format."""
    return Response(metrics.exposition(), media_type=CONTENT_TYPE_LATEST)
