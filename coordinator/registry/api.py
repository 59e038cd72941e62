"""Runners over HTTP."""

from __future__ import annotations

from typing import Annotated

from fastapi import BackgroundTasks, Depends, Request, Response, status
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import ValidationError

from coordinator.access.caller import Caller, needs
from coordinator.access.roles import Role
from coordinator.configuration.settings import enrolment_key
from coordinator.errors import ForbiddenError, RequestError, UnauthorizedError
from coordinator.http.context import Context
from coordinator.http.parameters import RunnerId
from coordinator.http.routers import RestRouter
from coordinator.registry import enrolment, recordings, service
from coordinator.registry.models import EnrolledRunner, Runner, RunnerList, RunnerRegistration
from coordinator.text.plain_text import plain_text
from protocol.enrolment import Enrolment
from protocol.enrolment_tokens import EnrolmentToken
from protocol.model import first_fault
from protocol.problems import problem_responses
from protocol.recording import AcceptedRecording, Recording

_RECORDING = {"requestBody": {"required": True, "content": {"application/json": {"schema": {"type": "object"}}}}}
"""The OpenAPI schema of a recording. Its own models are in ``protocol/recording.py``; a call's arguments are any
JSON."""

router = RestRouter(prefix="/runners", tags=["runners"])


@router.post(
    "",
    status_code=status.HTTP_201_CREATED,
    dependencies=[needs(Role.operator)],
    responses=problem_responses(409, 502),
)
async def register(registration: RunnerRegistration, context: Context) -> Runner:
    """Probe the runner and register it. Registering the same URL again updates the registration."""
    runner = await service.register(context.engine, registration, context.times)
    await context.announce("runners")
    return runner


async def _enrolment_token(
    request: Request,
    context: Context,
    credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(HTTPBearer(auto_error=False))],
) -> EnrolmentToken:
    """Check the enrollment token of the request. From then on, the runner that the token names is the caller."""
    if context.enrolment_key_file is None:
        raise ForbiddenError(
            "this coordinator enrols no runners: start it with an enrolment key "
            "(`portolan up --enrolment-key-file FILE` or PORTOLAN_ENROLMENT_KEY_FILE)"
        )
    key = enrolment_key(context.enrolment_key_file)
    try:
        token = EnrolmentToken.parse(credentials.credentials if credentials else "")
    except ValueError:
        token = None
    if token is None or not token.is_of(key):
        raise UnauthorizedError(
            "the enrolment token is missing or wrong: create one with the coordinator's current key "
            "(`portolan runner token NAME FRAMEWORK/DEVICE`)"
        )
    request.state.caller = Caller(token.name, None, "runner")
    return token


@router.post("/enrol", responses={201: {"model": EnrolledRunner}, **problem_responses(409, 502)})
async def enrol(
    token: Annotated[EnrolmentToken, Depends(_enrolment_token)],
    body: Enrolment,
    request: Request,
    response: Response,
    after: BackgroundTasks,
    context: Context,
) -> EnrolledRunner:
    """Called by runners: probe the calling runner and give it a secret of its own.

    A second enrollment under the same name replaces the registration of the first.
    """
    if token.is_for(body.name):
        # Replicas share a token; ``body.name`` is the name of the calling replica.
        request.state.caller = Caller(body.name, None, "runner")
    entry = await enrolment.enrol(context.engine, body, token, context.times)
    if entry.created:
        response.status_code = status.HTTP_201_CREATED
    # The new secret must not be used before the runner has it.
    after.add_task(context.announce, "runners")
    return EnrolledRunner(runner=await service.get(context.engine, entry.runner_id), secret=entry.secret)


@router.get("", dependencies=[needs(Role.viewer)])
async def list_runners(context: Context) -> RunnerList:
    return RunnerList(runners=await service.list_runners(context.engine))


# The ``int`` converter keeps GET /runners/enrol from matching.
@router.get("/{runner_id:int}", dependencies=[needs(Role.viewer)], responses=problem_responses(404))
async def detail(runner_id: RunnerId, context: Context) -> Runner:
    return await service.get(context.engine, runner_id)


@router.delete(
    "/{runner_id:int}",
    status_code=status.HTTP_204_NO_CONTENT,
    dependencies=[needs(Role.operator)],
    responses=problem_responses(404),
)
async def remove(runner_id: RunnerId, context: Context) -> Response:
    """Remove the runner. The runner's jobs go back to the queue. Its outcomes are kept."""
    await service.remove(context.engine, runner_id)
    await context.announce("runners")
    return Response(status_code=status.HTTP_204_NO_CONTENT)


@router.post(
    "/{runner_id:int}/recordings",
    status_code=status.HTTP_202_ACCEPTED,
    dependencies=[needs(Role.operator)],
    openapi_extra=_RECORDING,
    responses=problem_responses(404, 409, 413, 422, 502),
)
async def send_recording(runner_id: RunnerId, request: Request, context: Context) -> AcceptedRecording:
    """Send a recording to a runner that was started with --accept-recordings.

    The runner restarts immediately and then serves the recording as a suite.
    """
    try:
        recording = Recording.model_validate_json(await request.body())
    except ValidationError as error:
        raise RequestError(
            f"this is not a valid recording ({plain_text(first_fault(error))}): make one with `portolan-runner record`"
        ) from error
    return await recordings.send(context.engine, runner_id, recording, context.times)
