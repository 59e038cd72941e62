"""Two campaigns against each other, or two targets: what fails on one and passes on the other, what got slower."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from sqlalchemy.ext.asyncio import AsyncEngine

from coordinator.campaigns import service as campaigns
from coordinator.errors import RequestError
from coordinator.results import service as matrix
from coordinator.results.comparison import store
from coordinator.results.comparison.latencies import FACTOR, Comparison
from coordinator.results.comparison.latencies import compare as judged
from coordinator.results.comparison.models import (
    Compared,
    ComparedPair,
    Latencies,
    LatencyChange,
    Pair,
    Paired,
    Side,
    Verdicts,
)
from coordinator.results.comparison.pairs import SideSelector, chosen, matched
from coordinator.results.comparison.verdicts import compared, counts
from coordinator.results.models import WhichVerdict
from coordinator.targets.models import Target
from protocol.enums import TimingPolicy


async def paired(engine: AsyncEngine, a: SideSelector, b: SideSelector, verdict: WhichVerdict) -> Paired:
    """Pairs of other suite revisions, and simulated targets, are left out, with the reason."""
    if a == b:
        raise RequestError(
            "both sides are the same: compare two campaigns, or two targets such as 3:torch/cpu and 3:torch/xla"
        )
    if (a.selector is None) != (b.selector is None):
        raise RequestError("one side is a target, the other a whole campaign: name a target of both, or of neither")
    sides = [await _side(engine, each) for each in (a, b)]
    columns = [chosen(each, await matrix.targets(engine, each.campaign)) for each in (a, b)]
    found = matched(columns[0], columns[1], named=a.selector is not None)
    return Paired(
        a=sides[0],
        b=sides[1],
        verdict=verdict,
        pairs=[Pair(framework=one.framework, a=one, b=other, notes=_notes(one, other)) for one, other in found.pairs],
        left_out=list(found.left_out),
    )


async def compare(engine: AsyncEngine, a: SideSelector, b: SideSelector, verdict: WhichVerdict) -> Compared:
    found = await paired(engine, a, b, verdict)
    pairs = [
        ComparedPair(
            **dict(pair),
            verdicts=await verdicts(engine, found, pair),
            latencies=await latencies(engine, found, pair),
        )
        for pair in found.pairs
    ]
    return Compared(**{**dict(found), "pairs": pairs})


async def verdicts(engine: AsyncEngine, found: Paired, pair: Pair) -> Verdicts:
    before = await matrix.column_of(engine, found.a.campaign, pair.a.id)
    after = await matrix.column_of(engine, found.b.campaign, pair.b.id)
    changes = compared(before, after, found.verdict)
    return Verdicts(counts=counts(changes), changes=[each for each in changes if each.kind != "same"])


async def latencies(engine: AsyncEngine, found: Paired, pair: Pair) -> Latencies:
    """Which of the pair's functions became slower or faster, as ``reports.comparison`` judges."""
    if found.a.timing != found.b.timing:
        return _told([], f"they were timed otherwise: {found.a.timing} and {found.b.timing}")
    if found.a.timing == TimingPolicy.off:
        return _told([], "neither campaign was timed")
    column = "cold_ms" if found.a.timing == TimingPolicy.paper else "steady_ms"
    async with engine.connect() as connection:
        before = await store.measured(connection, found.a.campaign, pair.a.id, column)
        after = await store.measured(connection, found.b.campaign, pair.b.id, column)
    return _told(await asyncio.to_thread(judged, before, after))


async def _side(engine: AsyncEngine, asked: SideSelector) -> Side:
    campaign = await campaigns.detail(engine, asked.campaign)
    return Side(
        campaign=campaign.id,
        name=campaign.name,
        suite=campaign.suite,
        state=campaign.state,
        timing=campaign.timing,
        selector=asked.selector,
    )


def _notes(one: Target, other: Target) -> list[str]:
    told = [f"{each.target}: {said}" for each in (one, other) for said in each.sentences]
    if one.device == other.device and one.hardware != other.hardware:
        told.append(f"other hardware: {one.hardware} and {other.hardware}")
    elif one.version == other.version and one.environment != other.environment:
        told.append("other environments: some installed versions differ")
    return list(dict.fromkeys(told))


def _told(judged: Sequence[Comparison], refused: str | None = None) -> Latencies:
    number = {word: sum(each.change == word for each in judged) for word in ("slower", "faster", "same")}
    return Latencies(
        factor=FACTOR,
        refused=refused,
        **number,
        insufficient=len(judged) - sum(number.values()),
        changes=[LatencyChange(**vars(each)) for each in judged if each.change != "same"],
    )
