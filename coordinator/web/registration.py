"""The page that registers a runner: a form, the progress of the conformance check, and its result."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Annotated

from fastapi import Form, Query, Request, Response, status
from fastapi.responses import RedirectResponse
from pydantic import ValidationError

from coordinator.access.caller import needs
from coordinator.access.roles import Role
from coordinator.conformance import ClauseFinding, ConformanceReport
from coordinator.errors import RunnerRefusedError, UnusableRunnerError
from coordinator.http.context import Context, HandlerContext
from coordinator.http.routers import PageRouter
from coordinator.http.storable import Text
from coordinator.registry import admission, service
from coordinator.registry.admission import Admission
from coordinator.registry.models import Runner, RunnerRegistration
from coordinator.web.pages import page, stream_page
from protocol.fault_words import words_of

router = PageRouter()


@dataclass
class RunningCheck:
    """A running check, whose findings can be read while it runs. At its end, the runner is registered, or there is a
    reason why not."""

    context: HandlerContext
    registration: RunnerRegistration
    anyway: bool
    first: ClauseFinding | ConformanceReport
    others: AsyncIterator[ClauseFinding | ConformanceReport]
    report: ConformanceReport | None = None
    admission: Admission | None = None
    runner: Runner | None = None
    error: str | None = None

    async def findings(self) -> AsyncIterator[ClauseFinding]:
        part: ClauseFinding | ConformanceReport | None = self.first
        try:
            while part is not None:
                if isinstance(part, ClauseFinding):
                    yield part
                else:
                    self.report = part
                part = await anext(self.others, None)
        except UnusableRunnerError as error:
            self.error = str(error)

    async def conclude(self) -> RunningCheck:
        if self.report is None:
            self.error = self.error or "the check was interrupted: start it again"
            return self
        self.error = None
        self.admission = admission.judge(self.report)
        if self.admission is Admission.unusable or (self.admission is Admission.faulty and not self.anyway):
            return self
        try:
            self.runner = await service.register(self.context.engine, self.registration, self.context.times)
            await self.context.announce("runners")
        except UnusableRunnerError as error:
            self.error = str(error)
        return self


@router.get("/runners/new", dependencies=[needs(Role.operator)])
async def form(request: Request, url: Annotated[Text, Query(max_length=500)] = "") -> Response:
    return _page(request, url, anyway=False, errors={})


@router.post("/runners/new", dependencies=[needs(Role.operator)])
async def send(
    request: Request,
    context: Context,
    url: Annotated[str, Form()] = "",
    secret: Annotated[str, Form()] = "",
    anyway: Annotated[str, Form()] = "",
) -> Response:
    """Handle the form. Mistakes that need no check are shown at their fields. Otherwise the response is a page with the
    progress of the check."""
    try:
        registration = RunnerRegistration(url=url.strip(), secret=secret.strip())
        runner_id = await admission.find_registered(context.engine, registration, context.times)
        if runner_id is not None:
            return await _update(context, registration, runner_id)
        findings = aiter(admission.check(registration))
        check = RunningCheck(context, registration, bool(anyway), await anext(findings), findings)
    except (ValidationError, UnusableRunnerError, UnicodeError) as error:
        return _page(request, url, anyway=bool(anyway), errors=problems(error))
    return stream_page(
        request,
        "checking.html",
        {"url": registration.url},
        findings=check.findings,
        conclude=check.conclude,
        essential=admission.ESSENTIAL,
    )


async def _update(context: HandlerContext, registration: RunnerRegistration, runner_id: int) -> Response:
    """Update a runner that is already registered. It is not checked again, because a check would acknowledge events
    that the coordinator has not read.
    """
    runner = await service.get(context.engine, runner_id)
    where = "elsewhere"
    if runner.url == registration.url:
        await service.register(context.engine, registration, context.times)
        await context.announce("runners")
        where = "again"
    return RedirectResponse(f"/runners/{runner_id}?registered={where}", status.HTTP_303_SEE_OTHER)


def problems(error: ValidationError | UnusableRunnerError | UnicodeError) -> dict[str, str]:
    """An error sentence for each invalid field."""
    if isinstance(error, UnicodeError):
        return {
            "secret": "the secret has characters outside of ASCII: restart the runner with a secret of ASCII characters"
        }
    if isinstance(error, UnusableRunnerError):
        return {"secret" if isinstance(error, RunnerRefusedError) else "url": str(error)}
    return {str(problem["loc"][0]): words_of(problem) for problem in error.errors()}


def _page(request: Request, url: str, *, anyway: bool, errors: Mapping[str, str]) -> Response:
    code = status.HTTP_422_UNPROCESSABLE_CONTENT if errors else status.HTTP_200_OK
    return page(request, "registration.html", {"url": url, "errors": errors}, status=code, anyway=anyway)
