"""Two campaigns, or two targets, against each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from coordinator.campaigns import service as campaigns
from coordinator.context import Context
from coordinator.errors import RequestError
from coordinator.parameters import Text
from coordinator.results.api import VerdictParameter
from coordinator.results.comparison import service
from coordinator.results.comparison.latencies import LatencyChange
from coordinator.results.comparison.models import (
    Comparison,
    LatencyComparison,
    Pair,
    VerdictChange,
    VerdictComparison,
)
from coordinator.results.comparison.pairs import SideSelector
from coordinator.web.matrix import function_address
from coordinator.web.pages import page, streamed

router = APIRouter()

MOST = 200
"""Functions listed under one heading; the json and csv have all."""
Side = Annotated[Text, Query(max_length=300)]


@dataclass(frozen=True)
class Bucket:
    """Functions of one kind of change."""

    title: str
    changes: tuple[VerdictChange, ...]

    @property
    def shown(self) -> tuple[VerdictChange, ...]:
        return self.changes[:MOST]


@dataclass(frozen=True)
class PairVerdicts:
    """A pair as the template shows it."""

    verdicts: VerdictComparison
    buckets: tuple[Bucket, ...]


@router.get("/compare")
async def compare(
    request: Request, context: Context, verdict: VerdictParameter, a: Side = "", b: Side = ""
) -> Response:
    listed = (await campaigns.listed(context.engine, before=None, limit=50)).campaigns
    asked: dict[str, Any] = {"a": a, "b": b, "which": verdict, "campaigns": listed}
    if not (a and b):
        return page(request, "compare.html", {"campaigns": [each.id for each in listed]}, error=None, **asked)
    try:
        sides = SideSelector.parse(a, "A"), SideSelector.parse(b, "B")
        if request.query_params.get("as") in ("json", "csv"):
            found = await service.compare(context.engine, *sides, verdict)
            return page(request, "compare.html", found, rows=list(records(found)))
        paired = await service.paired(context.engine, *sides, verdict)
    except RequestError as error:
        return page(request, "compare.html", {"error": str(error)}, status=error.status, error=str(error), **asked)

    async def verdicts(pair: Pair) -> PairVerdicts:
        found = await service.verdicts(context.engine, paired, pair)
        return PairVerdicts(found, buckets(found.changes))

    async def latencies(pair: Pair) -> LatencyComparison:
        return await service.latencies(context.engine, paired, pair)

    return streamed(
        request,
        "compared.html",
        paired,
        verdicts=verdicts,
        latencies=latencies,
        speeds=speeds,
        most=MOST,
        function_address=function_address,
        **asked,
    )


def buckets(changes: Iterable[VerdictChange]) -> tuple[Bucket, ...]:
    """In the order in which a reader wants to know; empty ones are left out."""
    told: dict[str, list[VerdictChange]] = {title: [] for title in _TITLES}
    for each in changes:
        told[_title(each)].append(each)
    return tuple(Bucket(title, tuple(found)) for title, found in told.items() if found)


def speeds(latencies: LatencyComparison) -> dict[str, list[LatencyChange]]:
    """What changed, the greatest change first; then what cannot be told."""
    changed = {
        "slower": sorted(
            (each for each in latencies.changes if each.change == "slower"), key=lambda each: -(each.ratio or 0)
        ),
        "faster": sorted(
            (each for each in latencies.changes if each.change == "faster"), key=lambda each: each.ratio or 0
        ),
        "insufficient data": [each for each in latencies.changes if each.change == "insufficient data"],
    }
    return {word: found for word, found in changed.items() if found}


def records(found: Comparison) -> Iterator[dict[str, Any]]:
    """One record a function and pair whose verdict or latency changed, or cannot be compared."""
    for pair in found.pairs:
        ratios = {each.function: each for each in pair.latencies.changes}
        changes = {each.function: each for each in pair.verdicts.changes}
        for function in sorted(ratios.keys() | changes.keys()):
            yield _record(found, pair, function, changes.get(function), ratios.get(function))


def _record(
    found: Comparison, pair: Pair, function: str, change: VerdictChange | None, latency: LatencyChange | None
) -> dict[str, Any]:
    a, b = (change.a, change.b) if change else (None, None)
    low, high = (latency.interval if latency else None) or (None, None)
    return {
        "campaign_a": found.a.campaign,
        "campaign_b": found.b.campaign,
        "target_a": pair.a.target,
        "target_b": pair.b.target,
        "function": function,
        "verdicts": change.kind if change else "same",
        "verdict_a": a.verdict if a else None,
        "passed_a": a.passed if a else None,
        "total_a": a.total if a else None,
        "cause_a": a.cause if a else None,
        "verdict_b": b.verdict if b else None,
        "passed_b": b.passed if b else None,
        "total_b": b.total if b else None,
        "cause_b": b.cause if b else None,
        "why": change.why if change else None,
        "latency": latency.change if latency else None,
        "ratio": latency.ratio if latency else None,
        "ratio_low": low,
        "ratio_high": high,
    }


_TITLES = (
    "Passes on A, fails on B",
    "Passes in fewer cases on B",
    "Fails on A, passes on B",
    "Passes in more cases on B",
    "Insufficient data",
)


def _title(change: VerdictChange) -> str:
    if change.kind == "insufficient data" or change.a is None or change.b is None:
        return "Insufficient data"
    if change.kind == "regression":
        return "Passes on A, fails on B" if change.a.verdict == "success" else "Passes in fewer cases on B"
    return "Fails on A, passes on B" if change.b.verdict == "success" else "Passes in more cases on B"
