"""Compares two campaigns, or two targets: regressions, fixes and changes of latency."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence

from sqlalchemy.ext.asyncio import AsyncEngine

from coordinator.campaigns import service as campaigns
from coordinator.errors import RequestError
from coordinator.figures.counting import CountingRule, rule_named
from coordinator.figures.formats import plural
from coordinator.results import condition_rows
from coordinator.results import service as matrix
from coordinator.results.comparison import store
from coordinator.results.comparison.latencies import FACTOR, LEAST, LatencyChange, between_halves, compare_latencies
from coordinator.results.comparison.models import (
    Comparison,
    LatencyComparison,
    PairComparison,
    Pairing,
    Side,
    TargetPair,
    VerdictComparison,
)
from coordinator.results.comparison.pairs import (
    SideSelector,
    chosen_targets,
    match_targets,
    no_common_case,
    other_cases,
)
from coordinator.results.comparison.verdicts import TOLD, compare_verdicts, comparison, with_conditions
from coordinator.targets.models import Target
from protocol.enums import TimingPolicy


async def pair_targets(engine: AsyncEngine, a: SideSelector, b: SideSelector, rule: CountingRule) -> Pairing:
    """Pair the targets of two sides. Simulated targets, and targets whose suites differ or have no common case, are
    omitted with the reason.
    """
    if a == b:
        raise RequestError(
            "both sides are the same: compare two campaigns, or two targets such as 3:torch/cpu and 3:torch/xla"
        )
    if (a.selector is None) != (b.selector is None):
        raise RequestError(
            "one side is a target and the other a whole campaign: name a target on both sides or on neither"
        )
    side_a, side_b = [await _side(engine, selector) for selector in (a, b)]
    targets_a, targets_b = [
        chosen_targets(selector, await matrix.targets(engine, selector.campaign)) for selector in (a, b)
    ]
    target_pairs, left_out = match_targets(targets_a, targets_b, single_targets=a.selector is not None)
    pairs = []
    for one, other in target_pairs:
        others = await _other_cases(engine, (a.campaign, one), (b.campaign, other))
        if others is None:
            left_out.append(no_common_case(one, other))
        else:
            notes = _notes(one, other, len(others))
            pairs.append(TargetPair(framework=one.framework, a=one, b=other, notes=notes, other_cases=others))
    return Pairing(
        a=side_a,
        b=side_b,
        rule=rule.name,
        pairs=pairs,
        left_out=left_out,
    )


async def compare(engine: AsyncEngine, a: SideSelector, b: SideSelector, rule: CountingRule) -> Comparison:
    pairing = await pair_targets(engine, a, b, rule)
    pairs = [
        PairComparison(
            **dict(pair),
            verdicts=await verdicts(engine, pairing, pair),
            latencies=await latencies(engine, pairing, pair),
        )
        for pair in pairing.pairs
    ]
    return Comparison(**{**dict(pairing), "pairs": pairs})


async def verdicts(engine: AsyncEngine, pairing: Pairing, pair: TargetPair) -> VerdictComparison:
    rule = rule_named(pairing.rule)
    before = await matrix.column_of(engine, pairing.a.campaign, pair.a.id)
    after = await matrix.column_of(engine, pairing.b.campaign, pair.b.id)
    async with engine.connect() as connection:
        cases_before = await store.cases(connection, pairing.a.campaign, pair.a.id, rule)
        cases_after = await store.cases(connection, pairing.b.campaign, pair.b.id, rule)
    others = frozenset(pair.other_cases)
    changes = await asyncio.to_thread(compare_verdicts, before, after, (cases_before, cases_after), rule, others)
    verdict_comparison = comparison(changes)
    functions = [(pair.framework, change.function) for change in verdict_comparison.changes if change.kind in TOLD]
    async with engine.connect() as connection:
        conditions = [
            await condition_rows.of_functions(connection, campaign, functions, [target.id])
            for campaign, target in ((pairing.a.campaign, pair.a), (pairing.b.campaign, pair.b))
        ]
    by_side = [{function: condition for (_, function, _), condition in side.items()} for side in conditions]
    return with_conditions(verdict_comparison, by_side[0], by_side[1])


async def latencies(engine: AsyncEngine, pairing: Pairing, pair: TargetPair) -> LatencyComparison:
    """Compare the pair's latencies if both campaigns were timed with the same policy."""
    if pairing.a.timing != pairing.b.timing:
        return _decline(f"they were timed differently: {pairing.a.timing} and {pairing.b.timing}")
    if pairing.a.timing == TimingPolicy.off:
        return _decline("neither campaign was timed")
    column = "cold_ms" if pairing.a.timing == TimingPolicy.paper else "low_ms"
    async with engine.connect() as connection:
        before = await store.measurements(connection, pairing.a.campaign, pair.a.id, column)
        after = await store.measurements(connection, pairing.b.campaign, pair.b.id, column)
    others = frozenset(pair.other_cases)
    before, after = ([one for one in side if one.case not in others] for side in (before, after))
    changes = await asyncio.to_thread(compare_latencies, before, after)
    return _latency_comparison(changes, (between_halves(before), between_halves(after)))


async def _other_cases(engine: AsyncEngine, a: tuple[int, Target], b: tuple[int, Target]) -> list[str] | None:
    """The cases that differ between the two revisions of the suite. None if no case is known to be the same in both."""
    if a[1].suite_revision == b[1].suite_revision:
        return []
    async with engine.connect() as connection:
        one, other = [await store.digests(connection, campaign, target.id) for campaign, target in (a, b)]
    return other_cases(one, other)


async def _side(engine: AsyncEngine, selector: SideSelector) -> Side:
    campaign = await campaigns.detail(engine, selector.campaign)
    return Side.model_validate({**dict(campaign), "campaign": campaign.id, "selector": selector.selector})


def _notes(one: Target, other: Target, others: int) -> list[str]:
    notes = [f"{target.target}: {sentence}" for target in (one, other) for sentence in target.sentences]
    if one.suite_revision != other.suite_revision:
        notes.append(
            f"two revisions of the suite ({one.suite_revision} and {other.suite_revision}): "
            f"{plural(others, 'case')} of the charted functions cannot be compared"
        )
    if one.device == other.device and one.hardware != other.hardware:
        notes.append(f"different hardware: {one.hardware} and {other.hardware}")
    elif one.version == other.version and one.environment != other.environment:
        notes.append("different environments: some installed versions differ")
    return list(dict.fromkeys(notes))


def _decline(why: str) -> LatencyComparison:
    return _latency_comparison([], (None, None), why)


def _latency_comparison(
    changes: Sequence[LatencyChange], halves: tuple[float | None, float | None], reason: str | None = None
) -> LatencyComparison:
    number = Counter(change.change for change in changes)
    return LatencyComparison(
        factor=FACTOR,
        least=LEAST,
        between_halves=halves,
        refused=reason,
        slower=number["slower"],
        faster=number["faster"],
        same=number["same"],
        insufficient=number["insufficient data"],
        changes=[change for change in changes if change.change != "same"],
    )
