"""The page that submits a campaign: a form, a preview of the plan, and the submission itself."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from secrets import token_hex
from typing import Annotated, Any, Literal
from urllib.parse import urlencode

from fastapi import Depends, Form, Request, Response, status
from fastapi.responses import RedirectResponse
from pydantic import Field, ValidationError

from coordinator.access.caller import CurrentCaller, needs
from coordinator.access.roles import Role
from coordinator.campaigns import service
from coordinator.campaigns.models import CampaignDetail, DryRun
from coordinator.campaigns.request import CampaignRequest
from coordinator.errors import RequestError, UnknownNameError
from coordinator.http.context import Context
from coordinator.http.parameters import CampaignNumber
from coordinator.http.routers import PageRouter
from coordinator.registry import service as registry
from coordinator.registry.models import Runner
from coordinator.web.pages import page
from protocol.defaults import DEFAULT_TIMEOUT_S
from protocol.enums import CONFORMANCE_SUITE, DEFAULT_SUITE, TimedCases, TimingPolicy
from protocol.fault_words import words_of

router = PageRouter()

Which = Literal["failed", "incomplete"]
TIMINGS = {
    TimingPolicy.steady: "the first call separately, then samples until their times are stable",
    TimingPolicy.quick: "as steady, with a tenth of the time for samples",
    TimingPolicy.paper: "the study's rule: one call in each run, the mean over runs",
    TimingPolicy.off: "no timing, only verdicts",
}
TIMED_CASES = {
    TimedCases.all: "every case of a function",
    TimedCases.representative: "one plain case of each function; the other cases run only for their verdicts",
}
FIELDS = ("name", "suite", "targets", "functions", "runs", "timing", "timed_cases", "verdicts_first", "timeout_s")


MOST_TYPED = 250_000
"""The maximum number of characters in a form, enough for a thousand functions with the longest names."""
Typed = Annotated[str, Form(max_length=MOST_TYPED)]


@dataclass(frozen=True)
class Filled:
    """The form as a person filled it in, with every value as text. An empty value means the default of the REST API."""

    name: Typed = ""
    suite: Typed = DEFAULT_SUITE
    targets: Annotated[tuple[Annotated[str, Field(max_length=200)], ...], Form(max_length=100)] = ()
    """The targets whose checkboxes are selected."""
    other: Typed = ""
    """Further selectors, one per line."""
    functions: Typed = ""
    runs: Typed = "3"
    timing: Typed = ""
    """The timing policy. Empty for the suite's default."""
    timed_cases: Typed = ""
    """The cases to time. Empty for the suite's default."""
    verdicts_first: Typed = ""
    """``true`` if its checkbox is set."""
    timeout_s: Typed = f"{DEFAULT_TIMEOUT_S:g}"
    rerun: Typed = ""
    """The campaign a part of which is run again."""
    which: Typed = ""

    @property
    def selectors(self) -> list[str]:
        return list(dict.fromkeys([*self.targets, *words(self.other)]))

    def request(self) -> CampaignRequest:
        """The REST request of this form. Raises ``ValidationError`` or ``UnknownNameError``."""
        if not self.selectors:
            raise UnknownNameError("choose at least one target, or name some by a selector", "targets")
        values = {
            "name": self.name.strip(),
            "suite": self.suite.strip(),
            "targets": self.selectors,
            "functions": words(self.functions),
            "runs": self.runs.strip(),
            "timing": self.timing,
            "timed_cases": self.timed_cases,
            "verdicts_first": self.verdicts_first,
            "timeout_s": self.timeout_s.strip(),
            "rerun": {"campaign": self.rerun, "which": self.which} if self.rerun else None,
        }
        return CampaignRequest.model_validate({name: value for name, value in values.items() if value})


@dataclass(frozen=True)
class TargetChoice:
    """A target that a runner serves now, as a checkbox."""

    target: str
    hardware: tuple[str, ...]
    suites: tuple[str, ...]
    notes: tuple[str, ...]
    simulated: bool


@dataclass(frozen=True)
class Choices:
    """The targets and suites to choose from."""

    targets: tuple[TargetChoice, ...]
    suites: tuple[str, ...]


@router.get("/campaigns/new", dependencies=[needs(Role.submitter)])
async def form(
    request: Request,
    context: Context,
    rerun: CampaignNumber = None,
    which: Which = "failed",
    like: CampaignNumber = None,
) -> Response:
    """The form. It is empty, or filled in from a campaign or from the query. An address with a query can be sent to
    others."""
    choices = offer(await registry.list_runners(context.engine))
    earlier = rerun or like
    if earlier is None:
        fields = first(choices)
    else:
        fields = of_campaign(await service.detail(context.engine, earlier), which if rerun else None)
    return _page(request, choices, from_query(fields, request.query_params.multi_items()))


@router.post("/campaigns/new", dependencies=[needs(Role.submitter)])
async def send(
    request: Request,
    context: Context,
    caller: CurrentCaller,
    fields: Annotated[Filled, Depends()],
    do: Annotated[Literal["preview", "submit"], Form()] = "preview",
    key: Annotated[str | None, Form(max_length=200, pattern="^[!-~]+$")] = None,
) -> Response:
    """Preview or submit the campaign. If the form was already sent with this ``key``, as after a reload, nothing is
    submitted."""
    plan, errors = None, {}
    try:
        campaign_request = fields.request()
        if do == "submit":
            campaign, _ = await service.submit(context.engine, campaign_request, context.bounds, caller.name, key)
            await context.announce("jobs")
            return RedirectResponse(f"/campaigns/{campaign.id}", status.HTTP_303_SEE_OTHER)
        plan = await service.dry_run(context.engine, campaign_request, context.bounds)
    except (ValidationError, RequestError) as error:
        errors = problems(error)
    return _page(request, offer(await registry.list_runners(context.engine)), fields, plan=plan, errors=errors)


def problems(error: ValidationError | RequestError) -> dict[str, str]:
    """An error sentence for each invalid field. The sentence under the key ``form`` is about no single field."""
    if isinstance(error, RequestError):
        return {(error.field if isinstance(error, UnknownNameError) else None) or "form": str(error)}
    sentences: dict[str, str] = {}
    for problem in error.errors():
        field = str(problem["loc"][0]) if problem["loc"] else "form"
        value = problem.get("input")
        sentence = words_of(problem)
        sentence += f" (it is {value[:80]!r})" if isinstance(value, str) else ""
        if field in FIELDS:
            sentences.setdefault(field, sentence)
        else:
            sentences.setdefault("form", f"{field}: {sentence}")
    return sentences


def words(text: str) -> list[str]:
    return [word for word in re.split(r"[\s,]+", text) if word]


def offer(runners: Sequence[Runner]) -> Choices:
    """The targets and suites of the runners that can get jobs now. Targets with the same selector but different
    hardware are one choice."""
    live = [runner for runner in runners if runner.state == "online"]
    by_target: dict[str, list[Runner]] = {}
    for runner in live:
        by_target.setdefault(runner.target, []).append(runner)
    # By name; the conformance suite comes last, because it charts nothing.
    suites = sorted(
        {suite for runner in live for suite in runner.suites}, key=lambda name: (name == CONFORMANCE_SUITE, name)
    )
    return Choices(
        targets=tuple(
            TargetChoice(
                target=target,
                hardware=_sort_unique(runner.hardware for runner in serving),
                suites=_sort_unique(suite for runner in serving for suite in runner.suites),
                notes=_sort_unique(str(note) for runner in serving for note in runner.fingerprint.get("notes", ())),
                simulated=any(runner.simulated for runner in serving),
            )
            for target, serving in sorted(by_target.items())
        ),
        suites=tuple(suites),
    )


def _sort_unique(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(values)))


def first(choices: Choices) -> Filled:
    """The default choice: the study's suite if a runner serves it, otherwise the first suite, on all targets that have
    this suite."""
    suite = DEFAULT_SUITE
    if choices.suites and suite not in choices.suites:
        suite = choices.suites[0]
    return Filled(suite=suite, targets=tuple(choice.target for choice in choices.targets if suite in choice.suites))


def of_campaign(campaign: CampaignDetail, which: Which | None) -> Filled:
    """A form that submits this campaign again, or only its failed or incomplete part."""
    return Filled(
        name=f"{campaign.name}, what was {which}"[:200] if which else campaign.name,
        suite=campaign.suite,
        targets=tuple(dict.fromkeys(target.target for target in campaign.by_target)),
        functions="" if campaign.functions == ["*"] else "\n".join(campaign.functions),
        runs=str(campaign.runs),
        timing=str(campaign.timing),
        timed_cases=str(campaign.timed_cases),
        verdicts_first="true" if campaign.verdicts_first else "",
        timeout_s=f"{campaign.timeout_s:g}",
        rerun=str(campaign.id) if which else "",
        which=which or "",
    )


def from_query(fields: Filled, query: Sequence[tuple[str, str]]) -> Filled:
    """Replace fields of the form by values from the query. ``targets`` may be repeated."""
    from_url: dict[str, Any] = {name: value for name, value in query if name in (*FIELDS, "other")}
    if "targets" in from_url:
        from_url["targets"] = tuple(value for name, value in query if name == "targets")
    return replace(fields, **from_url)


def address(fields: Filled) -> str:
    """The address of the form that is filled in with these values."""
    values = asdict(fields) | {"which": fields.which if fields.rerun else ""}
    return f"/campaigns/new?{urlencode({name: value for name, value in values.items() if value}, doseq=True)}"


def apart(fields: Filled, choices: Choices) -> Filled:
    """Move selectors without a checkbox to the free-text field."""
    there = {choice.target for choice in choices.targets}
    without_checkbox = [target for target in fields.targets if target not in there]
    return replace(
        fields,
        targets=tuple(target for target in fields.targets if target in there),
        other="\n".join([*filter(None, [fields.other.strip()]), *without_checkbox]),
    )


def _page(
    request: Request,
    choices: Choices,
    fields: Filled,
    *,
    plan: DryRun | None = None,
    errors: Mapping[str, str] | None = None,
) -> Response:
    fields = apart(fields, choices)
    return page(
        request,
        "submission.html",
        {"filled": fields, "offered": choices, "plan": plan, "errors": errors or {}, "key": token_hex(16)},
        status=status.HTTP_422_UNPROCESSABLE_CONTENT if errors else status.HTTP_200_OK,
        timings=TIMINGS,
        timed_cases=TIMED_CASES,
        address=address(fields),
    )
