"""Registering a runner: a form, the check of its contract as it goes on, and what follows from it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Form, Request, Response, status
from fastapi.responses import RedirectResponse
from pydantic import ValidationError

from coordinator.conformance import Finding, Report, Result
from coordinator.context import Context, Shared
from coordinator.errors import RunnerError, RunnerRefusedError
from coordinator.registry import admission, service
from coordinator.registry.admission import Admission
from coordinator.registry.models import Runner, RunnerRegistration
from coordinator.web.pages import page, same_site, streamed

router = APIRouter()


@dataclass(frozen=True)
class Conclusion:
    """How a check ended: with the runner on the chart, or why it is not."""

    report: Report | None = None
    admission: Admission | None = None
    runner: Runner | None = None
    error: str | None = None

    @property
    def failed(self) -> int:
        return self.report.count(Result.failed) if self.report else 0


@dataclass
class Checking:
    """One check, heard as it goes on; after it, the runner is registered if it may be."""

    context: Shared
    registration: RunnerRegistration
    anyway: bool
    heard: AsyncIterator[Finding | Report]
    report: Report | None = field(default=None, init=False)
    broken: str | None = field(default=None, init=False)

    async def findings(self) -> AsyncIterator[Finding]:
        try:
            async for each in self.heard:
                if isinstance(each, Finding):
                    yield each
                else:
                    self.report = each
        except RunnerError as error:
            self.broken = str(error)

    async def conclude(self) -> Conclusion:
        if self.report is None:
            return Conclusion(error=self.broken or "the check did not come to its end")
        judged = admission.judge(self.report)
        if judged is Admission.unusable or (judged is Admission.faulty and not self.anyway):
            return Conclusion(self.report, judged)
        try:
            runner = await service.register(self.context.engine, self.registration)
        except RunnerError as error:
            return Conclusion(self.report, judged, error=str(error))
        await self.context.dispatcher.announce("runners")
        return Conclusion(self.report, judged, runner)


@router.get("/runners/new")
async def form(request: Request, url: str = "") -> Response:
    return _page(request, url, anyway=False)


@router.post("/runners/new", dependencies=[Depends(same_site)])
async def send(
    request: Request,
    context: Context,
    url: Annotated[str, Form()] = "",
    secret: Annotated[str, Form()] = "",
    anyway: Annotated[str, Form()] = "",
) -> Response:
    """What is wrong at once stands beside its field; the rest is a page that goes on while the check does."""
    given = bool(anyway)
    try:
        registration = RunnerRegistration(url=url.strip(), secret=secret.strip())
        known = await admission.find_registered(context.engine, registration)
        if known is not None:
            return await _updated(context, registration, known)
        heard = aiter(admission.check(registration))
        begun = await anext(heard)
    except (ValidationError, RunnerError, UnicodeError) as error:
        return _page(request, url, anyway=given, errors=problems(error))
    checking = Checking(context, registration, given, _from(begun, heard))
    return streamed(
        request,
        "checking.html",
        {"url": registration.url},
        findings=checking.findings,
        conclude=checking.conclude,
        essential=admission.ESSENTIAL,
    )


async def _updated(context: Shared, registration: RunnerRegistration, known: int) -> Response:
    """It is served already: nothing may take its events, so it is brought up to date without a check."""
    runner = await service.get(context.engine, known)
    if runner.url == registration.url:
        await service.register(context.engine, registration)
        await context.dispatcher.announce("runners")
        return RedirectResponse(f"/runners/{known}?registered=again", status.HTTP_303_SEE_OTHER)
    return RedirectResponse(f"/runners/{known}?registered=elsewhere", status.HTTP_303_SEE_OTHER)


async def _from(first: Finding | Report, rest: AsyncIterator[Finding | Report]) -> AsyncIterator[Finding | Report]:
    yield first
    async for each in rest:
        yield each


def problems(error: ValidationError | RunnerError | UnicodeError) -> dict[str, str]:
    """What is wrong, by the field beside which it is said."""
    if isinstance(error, UnicodeError):
        return {"secret": "a runner can be checked with a secret of ASCII letters only: start it with such a one"}
    if isinstance(error, RunnerRefusedError):
        return {"secret": str(error)}
    if isinstance(error, RunnerError):
        return {"url": str(error)}
    return {str(each["loc"][0]): each["msg"].removeprefix("Value error, ") for each in error.errors()}


def _page(request: Request, url: str, *, anyway: bool, errors: Mapping[str, str] | None = None) -> Response:
    data: dict[str, Any] = {"url": url, "errors": errors or {}}
    code = status.HTTP_422_UNPROCESSABLE_CONTENT if errors else status.HTTP_200_OK
    return page(request, "registration.html", data, status=code, anyway=anyway)
