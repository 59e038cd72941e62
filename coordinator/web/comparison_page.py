"""The comparison of two campaigns or two targets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated, Any

from fastapi import Query, Request, Response

from coordinator.campaigns import service as campaigns
from coordinator.errors import RequestError
from coordinator.figures.counting import RULES
from coordinator.http.context import Context
from coordinator.http.routers import PageRouter
from coordinator.http.storable import Text
from coordinator.results.api import FunctionRuleParameter
from coordinator.results.comparison import service
from coordinator.results.comparison.latencies import LatencyChange
from coordinator.results.comparison.models import (
    Comparison,
    LatencyComparison,
    PairComparison,
    TargetPair,
    VerdictChange,
    VerdictComparison,
)
from coordinator.results.comparison.pairs import SideSelector
from coordinator.web.pages import page, stream_page

router = PageRouter()

MOST = 200
"""The maximum number of functions under one heading. JSON and csv have all."""
MOST_CAMPAIGNS = 50
"""The number of campaigns that the form offers, newest first."""
Side = Annotated[Text, Query(max_length=300)]


@router.get("/compare")
async def compare(
    request: Request, context: Context, rule: FunctionRuleParameter, a: Side = "", b: Side = ""
) -> Response:
    newest = await campaigns.list_campaigns(context.engine, before=None, limit=MOST_CAMPAIGNS)
    recent_campaigns = newest.campaigns
    targets_of = await campaigns.target_names(context.engine, [campaign.id for campaign in recent_campaigns])
    form: dict[str, Any] = {
        "a": a,
        "b": b,
        "rule": rule,
        "rules": RULES,
        "campaigns": recent_campaigns,
        "targets_of": targets_of,
        "has_older": newest.next is not None,
    }
    if not (a and b):
        return page(
            request, "compare.html", {"campaigns": [campaign.id for campaign in recent_campaigns]}, error=None, **form
        )
    try:
        sides = SideSelector.parse(a, "A"), SideSelector.parse(b, "B")
        if request.query_params.get("as") in ("json", "csv"):
            comparison = await service.compare(context.engine, *sides, rule)
            return page(request, "compare.html", comparison, rows=list(_records(comparison)))
        pairing = await service.pair_targets(context.engine, *sides, rule)
    except RequestError as error:
        return page(request, "compare.html", {"error": str(error)}, status=error.status, error=str(error), **form)

    async def verdicts(pair: TargetPair) -> VerdictComparison:
        return await service.verdicts(context.engine, pairing, pair)

    async def latencies(pair: TargetPair) -> LatencyComparison:
        return await service.latencies(context.engine, pairing, pair)

    return stream_page(
        request,
        "compared.html",
        pairing,
        verdicts=verdicts,
        latencies=latencies,
        by_heading=by_heading,
        by_speed=by_speed,
        most=MOST,
        **form,
    )


def by_heading(changes: Iterable[VerdictChange]) -> dict[str, list[VerdictChange]]:
    """The changes by heading, the most important heading first. Headings without changes are not included."""
    changes_by_heading: dict[str, list[VerdictChange]] = {heading: [] for heading in _HEADINGS}
    for change in changes:
        changes_by_heading[_heading(change)].append(change)
    return {heading: under for heading, under in changes_by_heading.items() if under}


def by_speed(changes: Iterable[LatencyChange]) -> dict[str, list[LatencyChange]]:
    """The changes of latency by heading, the greatest change first, followed by functions with too few data."""
    by_ratio = sorted(changes, key=lambda change: change.ratio or 0)
    slower = [change for change in reversed(by_ratio) if change.change == "slower"]
    faster = [change for change in by_ratio if change.change == "faster"]
    unsure = [change for change in changes if change.change == "insufficient data"]
    changes_by_word = {"slower": slower, "faster": faster, "insufficient data": unsure}
    return {word: under for word, under in changes_by_word.items() if under}


def _records(comparison: Comparison) -> Iterator[dict[str, Any]]:
    """One record for each function and pair whose verdict or latency changed, or cannot be compared."""
    for pair in comparison.pairs:
        latencies = {change.function: change for change in pair.latencies.changes}
        verdicts = {change.function: change for change in pair.verdicts.changes}
        for function in sorted(latencies.keys() | verdicts.keys()):
            yield _record(comparison, pair, function, verdicts.get(function), latencies.get(function))


def _record(
    comparison: Comparison,
    pair: PairComparison,
    function: str,
    verdict: VerdictChange | None,
    latency: LatencyChange | None,
) -> dict[str, Any]:
    low, high = (latency and latency.interval) or (None, None)
    return {
        "campaign_a": comparison.a.campaign,
        "campaign_b": comparison.b.campaign,
        "target_a": pair.a.target,
        "target_b": pair.b.target,
        "function": function,
        "verdicts": verdict.kind if verdict else "same",
        **{f"cases_{name}": getattr(verdict.counts, name) if verdict else 0 for name in _MOVED},
        "cases": verdict.moves if verdict else "",
        **{
            f"{name}_{side}": getattr(verdict and getattr(verdict, side), name, None)
            for side in ("a", "b")
            for name in ("verdict", "passed", "total", "cause")
        },
        **{
            f"conditions_{side}": "; ".join(getattr(verdict and getattr(verdict, side), "conditions", []))
            for side in ("a", "b")
        },
        "why": verdict.why if verdict else None,
        "latency": latency.change if latency else None,
        "ratio": latency.ratio if latency else None,
        "ratio_low": low,
        "ratio_high": high,
        **{
            f"contended_share_{side}": share
            for side, share in zip("ab", latency.contended if latency else (None, None), strict=True)
        },
        "latency_cases": latency.moves if latency else "",
        "latency_why": latency.why if latency else None,
    }


_MOVED = ("worse", "better", "cause", "placement", "lost")
_HEADINGS = (
    "Passes on A, fails on B",
    "Passes in fewer cases on B",
    "Passes in other cases on B",
    "Fails with another cause, or passes with another placement",
    "Fails on A, passes on B",
    "Passes in more cases on B",
    "Without a result on B",
    "Insufficient data",
)


def _heading(change: VerdictChange) -> str:
    broke, worse, both_ways, otherwise, passes_again, better, no_outcome, unsure = _HEADINGS
    match change.kind:
        case "regression":
            return broke if change.a and change.a.verdict == "success" else worse
        case "mixed":
            return both_ways
        case "change":
            return otherwise
        case "fix":
            return passes_again if change.b and change.b.verdict == "success" else better
        case "lost":
            return no_outcome
    return unsure
