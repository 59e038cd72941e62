"""Submitting a campaign: a form, what it would plan, and the submission itself."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Form, Request, Response, status
from fastapi.responses import RedirectResponse
from pydantic import ValidationError
from sqlalchemy.ext.asyncio import AsyncEngine

from coordinator.campaigns import service
from coordinator.campaigns.models import CampaignDetail, CampaignRequest, DryRun
from coordinator.context import Context
from coordinator.errors import RequestError, UnknownNameError
from coordinator.parameters import CampaignNumber
from coordinator.registry import service as registry
from coordinator.registry.models import Runner
from coordinator.web.pages import page, same_site
from protocol.enums import CONFORMANCE_SUITE, DEFAULT_SUITE, TimingPolicy
from protocol.jobs import DEFAULT_TIMEOUT_S

router = APIRouter()

Which = Literal["failed", "incomplete"]
TIMINGS = {
    TimingPolicy.steady: "the first call by itself, then samples until they hold still",
    TimingPolicy.paper: "the study's rule: one call in each run, the mean over runs",
    TimingPolicy.off: "none; only whether it runs and is right",
}
FIELDS = ("name", "suite", "targets", "functions", "runs", "timing", "timeout_s")


@dataclass(frozen=True)
class Filled:
    """The form as it was typed: every value still a text."""

    name: str = ""
    suite: str = DEFAULT_SUITE
    targets: tuple[str, ...] = ()
    """Of the checkboxes."""
    other: str = ""
    """Further selectors, one a line."""
    functions: str = ""
    runs: str = "3"
    timing: str = TimingPolicy.steady
    timeout_s: str = f"{DEFAULT_TIMEOUT_S:g}"
    rerun: str = ""
    """The campaign of which a part is run again."""
    which: str = ""

    @property
    def selectors(self) -> list[str]:
        return list(dict.fromkeys([*self.targets, *words(self.other)]))

    def asked(self) -> dict[str, Any]:
        """As a request over REST has it. What was left empty has its default there."""
        values = {
            "name": self.name.strip() or None,
            "suite": self.suite.strip(),
            "targets": self.selectors,
            "functions": words(self.functions) or ["*"],
            "runs": self.runs.strip(),
            "timing": self.timing,
            "timeout_s": self.timeout_s.strip(),
            "rerun": {"campaign": self.rerun, "which": self.which} if self.rerun else None,
        }
        return {name: value for name, value in values.items() if value not in (None, "")}


@dataclass(frozen=True)
class Choice:
    """A target that somebody serves now, as a checkbox."""

    target: str
    hardware: tuple[str, ...]
    suites: tuple[str, ...]
    notes: tuple[str, ...]
    simulated: bool


@dataclass(frozen=True)
class Offered:
    """What can be chosen."""

    targets: tuple[Choice, ...]
    suites: tuple[str, ...]


def _filled(
    name: Annotated[str, Form()] = "",
    suite: Annotated[str, Form()] = "",
    targets: Annotated[list[str] | None, Form()] = None,
    other: Annotated[str, Form()] = "",
    functions: Annotated[str, Form()] = "",
    runs: Annotated[str, Form()] = "",
    timing: Annotated[str, Form()] = "",
    timeout_s: Annotated[str, Form()] = "",
    rerun: Annotated[str, Form()] = "",
    which: Annotated[str, Form()] = "",
) -> Filled:
    return Filled(name, suite, tuple(targets or ()), other, functions, runs, timing, timeout_s, rerun, which)


@router.get("/campaigns/new")
async def form(
    request: Request,
    context: Context,
    rerun: CampaignNumber = None,
    which: Which = "failed",
    like: CampaignNumber = None,
) -> Response:
    """Empty, or filled in from a campaign, or from the query: its address can be sent to somebody."""
    offered = offer(await registry.listed(context.engine))
    earlier = rerun or like
    filled = first(offered)
    if earlier is not None:
        filled = of_campaign(await service.detail(context.engine, earlier), offered, which if rerun else None)
    return _page(request, offered, from_query(filled, request.query_params.multi_items()))


@router.post("/campaigns/new", dependencies=[Depends(same_site)])
async def send(
    request: Request,
    context: Context,
    filled: Annotated[Filled, Depends(_filled)],
    do: Annotated[Literal["preview", "submit"], Form()] = "preview",
) -> Response:
    try:
        asked = check(filled)
        if do == "submit":
            campaign = await service.submit(context.engine, asked)
            await context.dispatcher.announce("jobs")
            return RedirectResponse(f"/campaigns/{campaign.id}", status.HTTP_303_SEE_OTHER)
        plan = await service.dry_run(context.engine, asked)
    except (ValidationError, RequestError) as error:
        return await _wrong(request, context.engine, filled, problems(error))
    return _page(request, offer(await registry.listed(context.engine)), filled, plan=plan)


def check(filled: Filled) -> CampaignRequest:
    if not filled.selectors:
        raise UnknownNameError("choose at least one target, or name some by a selector", "targets")
    return CampaignRequest.model_validate(filled.asked())


def problems(error: ValidationError | RequestError) -> dict[str, str]:
    """What is wrong, by the field beside which it is said; under ``form`` what is no single field's."""
    if isinstance(error, ValidationError):
        found: dict[str, str] = {}
        for each in error.errors():
            field = str(each["loc"][0]) if each["loc"] else "form"
            found.setdefault(
                field if field in FIELDS else "form",
                _said(field, each["msg"].removeprefix("Value error, "), each.get("input")),
            )
        return found
    of = error.field if isinstance(error, UnknownNameError) else None
    return {of or "form": str(error)}


def _said(field: str, message: str, given: object) -> str:
    shown = f" (it is {given[:80]!r})" if isinstance(given, str) else ""
    return f"{message}{shown}" if field in FIELDS else f"{field}: {message}{shown}"


def words(text: str) -> list[str]:
    return [word for word in re.split(r"[\s,]+", text) if word]


def offer(runners: Sequence[Runner]) -> Offered:
    """Targets and suites of the runners that can be given jobs now. One selector names all its hardware."""
    live = [runner for runner in runners if runner.state == "online"]
    by_target: dict[str, list[Runner]] = {}
    for runner in live:
        by_target.setdefault(runner.target, []).append(runner)
    return Offered(
        targets=tuple(
            Choice(
                target=target,
                hardware=_each(runner.hardware for runner in serving),
                suites=_each(suite for runner in serving for suite in runner.suites),
                notes=_each(str(note) for runner in serving for note in runner.fingerprint.get("notes", ())),
                simulated=any(runner.simulated for runner in serving),
            )
            for target, serving in sorted(by_target.items())
        ),
        suites=tuple(sorted({suite for runner in live for suite in runner.suites}, key=_rank)),
    )


def _rank(suite: str) -> tuple[bool, str]:
    """By name; what runners are checked by is nobody's first choice."""
    return suite == CONFORMANCE_SUITE, suite


def _each(values: Any) -> tuple[str, ...]:
    return tuple(sorted(set(values)))


def first(offered: Offered) -> Filled:
    """What is most likely wanted: the study's suite, else another, on all targets that have it."""
    suite = DEFAULT_SUITE
    if offered.suites and suite not in offered.suites:
        suite = offered.suites[0]
    return Filled(suite=suite, targets=tuple(each.target for each in offered.targets if suite in each.suites))


def of_campaign(campaign: CampaignDetail, offered: Offered, which: Which | None) -> Filled:
    """As that campaign was asked for, or what it left failed or incomplete."""
    wanted = [each.target for each in campaign.by_target]
    there = {each.target for each in offered.targets}
    return Filled(
        name=f"{campaign.name}, what was {which}"[:200] if which else campaign.name,
        suite=campaign.suite,
        targets=tuple(dict.fromkeys(each for each in wanted if each in there)),
        other="\n".join(dict.fromkeys(each for each in wanted if each not in there)),
        functions="" if campaign.functions == ["*"] else "\n".join(campaign.functions),
        runs=str(campaign.runs),
        timing=str(campaign.timing),
        timeout_s=f"{campaign.timeout_s:g}",
        rerun=str(campaign.id) if which else "",
        which=which or "",
    )


def from_query(filled: Filled, query: Sequence[tuple[str, str]]) -> Filled:
    """The query's fields before the others. ``targets`` may come several times."""
    given: dict[str, Any] = {name: value for name, value in query if name in FIELDS and name != "targets"}
    targets = tuple(value for name, value in query if name == "targets")
    if targets:
        given["targets"] = targets
    if "other" in dict(query):
        given["other"] = dict(query)["other"]
    return replace(filled, **given)


def address(filled: Filled) -> str:
    """Of the form filled in like this."""
    values: Mapping[str, Any] = {
        "rerun": filled.rerun,
        "which": filled.which if filled.rerun else "",
        **{name: getattr(filled, name) for name in FIELDS},
        "other": filled.other,
    }
    return f"/campaigns/new?{urlencode({name: value for name, value in values.items() if value}, doseq=True)}"


def apart(filled: Filled, offered: Offered) -> Filled:
    """Selectors that have no checkbox stand among the others."""
    there = {each.target for each in offered.targets}
    gone = [each for each in filled.targets if each not in there]
    return replace(
        filled,
        targets=tuple(each for each in filled.targets if each in there),
        other="\n".join([*filter(None, [filled.other.strip()]), *gone]),
    )


async def _wrong(request: Request, engine: AsyncEngine, filled: Filled, errors: Mapping[str, str]) -> Response:
    return _page(request, offer(await registry.listed(engine)), filled, errors=errors)


def _page(
    request: Request,
    offered: Offered,
    filled: Filled,
    *,
    plan: DryRun | None = None,
    errors: Mapping[str, str] | None = None,
) -> Response:
    filled = apart(filled, offered)
    return page(
        request,
        "submission.html",
        {"filled": filled, "offered": offered, "plan": plan, "errors": errors or {}},
        status=status.HTTP_422_UNPROCESSABLE_CONTENT if errors else status.HTTP_200_OK,
        timings=TIMINGS,
        address=address(filled),
    )
