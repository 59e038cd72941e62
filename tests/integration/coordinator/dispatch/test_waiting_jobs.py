"""Jobs that wait for a target are counted only if they may begin."""

from __future__ import annotations

from coordinator.dispatch.waiting_work import RunnerOffer, waiting
from tests.integration.coordinator.dispatch.conftest import SeededDatabase
from tests.integration.coordinator.dispatch.test_queue import add_slow_target


async def count(place: SeededDatabase, most: int = 1_000) -> dict[RunnerOffer, int]:
    async with place.engine.connect() as connection:
        return await waiting(connection, [place.target_id], most)


async def test_jobs_that_may_begin_are_counted(place: SeededDatabase) -> None:
    offer = RunnerOffer(place.target_id, place.suite_id)
    assert await count(place) == {}
    await add_slow_target(place, await place.campaign(runs=2, cases=3))
    assert await count(place) == {offer: 3}, "run 2 is not open yet"
    assert await count(place, most=2) == {offer: 2}
    await place.campaign(runs=1, cases=4)
    assert await count(place) == {offer: 7}
    await place.claim()
    assert await count(place) == {offer: 0}
