"""The rates of a sample: how many of its functions port on each target, in all and for each group from which they were
drawn."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Protocol

from sqlalchemy.ext.asyncio import AsyncEngine

from coordinator.campaigns import service as campaigns
from coordinator.catalogue.models import ChartedSample
from coordinator.errors import NotFoundError
from coordinator.figures.counting import Counts
from coordinator.results import service as matrix
from coordinator.results import store
from coordinator.results.models import CampaignSample, PortRate, SampleRate
from coordinator.results.statistics import Rate
from coordinator.targets.models import Target, labels

COUNTED = ("success", "partial", "complete")
ALL, TOP, DECILES = "all", "the most used", "drawn from the deciles"


class JudgedFunction(Protocol):
    """A function on a target, with its counts by the rules of the rates."""

    @property
    def target_id(self) -> int: ...
    @property
    def function(self) -> str: ...
    @property
    def anywhere(self) -> Counts: ...
    @property
    def on_device(self) -> Counts | None: ...
    @property
    def is_rated(self) -> bool: ...


async def of_campaign(engine: AsyncEngine, campaign_id: int) -> CampaignSample:
    """The campaign's sample and its rates. Raises ``NotFoundError`` if the campaign's functions are not a sample."""
    campaign = await campaigns.detail(engine, campaign_id)
    sample = await campaigns.sample(engine, campaign_id)
    if sample is None:
        raise NotFoundError(
            f"the functions of campaign {campaign_id} are not a sample: submit a sample with `portolan submit --sample`"
        )
    await matrix.ensure_fresh(engine, campaign_id)
    targets = await matrix.targets(engine, campaign_id)
    async with engine.connect() as connection:
        cells = await store.campaign_cells(connection, campaign_id)
    return CampaignSample(
        campaign_id=campaign_id,
        suite=campaign.suite,
        sample=sample,
        not_charted=sample.not_charted,
        rates=sample_rates(sample, targets, cells),
    )


def sample_rates(
    sample: ChartedSample, targets: Sequence[Target], verdicts: Iterable[JudgedFunction]
) -> list[SampleRate]:
    """The rates on each target that ran cases. Does no I/O."""
    by_target: dict[int, list[JudgedFunction]] = {}
    for row in verdicts:
        by_target.setdefault(row.target_id, []).append(row)
    target_labels = labels(targets)
    return [
        SampleRate(
            target_id=target.id,
            target=target_labels[target.id],
            part=part,
            drawn=sample_size,
            charted=len(functions),
            ports=_rate([row.anywhere for row in rated_functions if row.function in functions]),
            ports_on_device=_rate([row.on_device for row in rated_functions if row.function in functions]),
        )
        for target in targets
        if not target.is_lowered
        for rated_functions in [[row for row in by_target.get(target.id, []) if row.is_rated]]
        for part, sample_size, functions in _parts(sample)
    ]


def _parts(sample: ChartedSample) -> Iterator[tuple[str, int, Collection[str]]]:
    """Each part of the sample: its name, its number of functions, and the names of its charted functions."""
    kinds = {ALL: sample.drawn}
    for row in sample.drawn:
        part = TOP if row.stratum.startswith("top") else DECILES
        kinds[part] = (*kinds.get(part, ()), row)
    for part, rows in kinds.items():
        yield part, len(rows), frozenset(row.charted_as for row in rows if row.charted_as is not None)


def _rate(counts: Sequence[Counts | None]) -> PortRate:
    verdicts = [of.verdict for of in counts if of is not None and of.verdict in COUNTED]
    return PortRate.of(Rate(verdicts.count("success"), len(verdicts)))
