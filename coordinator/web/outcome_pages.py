"""The page of one outcome with all details, and the form to set the cause of a failure."""

from __future__ import annotations

from typing import Annotated

from fastapi import Form, Request, Response
from fastapi.responses import PlainTextResponse, RedirectResponse
from pydantic import BaseModel, ValidationError

from coordinator.access.caller import CurrentCaller, needs
from coordinator.access.roles import Role
from coordinator.causes import service as review
from coordinator.causes.models import Words
from coordinator.causes.rules import readable
from coordinator.errors import ConflictError
from coordinator.http.context import Context
from coordinator.http.parameters import CampaignId, JobId
from coordinator.http.routers import PageRouter
from coordinator.results.judges import WORDS
from coordinator.results.outcomes import details
from coordinator.results.outcomes.models import OutcomeDetail
from coordinator.web.pages import page
from coordinator.web.plots import scale_of, strips
from protocol.enums import Cause

router = PageRouter()

MOST_TEXT = 64 * 1024
"""The maximum number of characters of a log or a message on the page. A link leads to the whole text."""
MOST_TYPED = 4000

Typed = Annotated[str, Form(max_length=MOST_TYPED)]


class OverrideForm(BaseModel):
    """The form in which a person sets the cause of a failure."""

    cause: Cause
    why: Words


@router.get("/campaigns/{campaign_id}/outcomes/{job_id}")
async def outcome(request: Request, campaign_id: CampaignId, job_id: JobId, context: Context) -> Response:
    return _page(request, await details.outcome(context.engine, campaign_id, job_id))


@router.get("/campaigns/{campaign_id}/outcomes/{job_id}/log")
async def log(campaign_id: CampaignId, job_id: JobId, context: Context) -> Response:
    """The whole stored log, as plain text."""
    text = await details.log(context.engine, campaign_id, job_id)
    return PlainTextResponse(text)


@router.post("/campaigns/{campaign_id}/outcomes/{job_id}/override", dependencies=[needs(Role.operator)])
async def override(
    request: Request,
    campaign_id: CampaignId,
    job_id: JobId,
    context: Context,
    caller: CurrentCaller,
    cause: Typed = "",
    why: Typed = "",
) -> Response:
    form_values = {"cause": cause, "why": why}
    try:
        override = OverrideForm.model_validate(form_values)
        await review.override_outcome(context.engine, campaign_id, job_id, override.cause, caller.name, override.why)
    except (ValidationError, ConflictError) as error:
        outcome = await details.outcome(context.engine, campaign_id, job_id)
        return _page(request, outcome, form_values=form_values, errors=problems(error))
    return _back(campaign_id, job_id)


@router.post("/campaigns/{campaign_id}/outcomes/{job_id}/undo", dependencies=[needs(Role.operator)])
async def undo(campaign_id: CampaignId, job_id: JobId, context: Context) -> Response:
    await review.undo_outcome(context.engine, campaign_id, job_id)
    return _back(campaign_id, job_id)


def problems(error: ValidationError | ConflictError) -> dict[str, str]:
    """An error sentence for each invalid field. The sentence under the key ``form`` is about the form as a whole."""
    if isinstance(error, ConflictError):
        return {"form": str(error)}
    return {str(problem["loc"][0]): _PROBLEMS[str(problem["loc"][0])] for problem in error.errors()}


_PROBLEMS = {
    "cause": "choose a cause",
    "why": "say why, in at most 2,000 characters",
}


def cut(text: str) -> tuple[str, int]:
    """The end of the text, and the number of characters omitted before it."""
    return text[-MOST_TEXT:], max(0, len(text) - MOST_TEXT)


def _page(
    request: Request,
    outcome: OutcomeDetail,
    *,
    form_values: dict[str, str] | None = None,
    errors: dict[str, str] | None = None,
) -> Response:
    row = outcome.row
    log, left_out = cut(outcome.log)
    message = readable((outcome.evidence and outcome.evidence.message) or "")
    stored_values = {"cause": row["cause"] or "", "why": row["overridden_why"] or ""}
    return page(
        request,
        "outcome.html",
        outcome,
        rows=[{name: value for name, value in row.items() if name != "fingerprint"}],
        status=422 if errors else 200,
        row=row,
        log=log,
        left_out=left_out,
        message=message[:MOST_TEXT],
        drawing=strips([outcome.samples_ms], scale_of([outcome.samples_ms]), width=640),
        causes=list(Cause),
        judges=WORDS,
        typed=form_values or stored_values,
        errors=errors or {},
    )


def _back(campaign_id: int, job_id: int) -> Response:
    return RedirectResponse(f"/campaigns/{campaign_id}/outcomes/{job_id}#cause", 303)
