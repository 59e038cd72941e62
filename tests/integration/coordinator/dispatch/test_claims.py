"""A claim takes the runner's share, first the jobs that no runner has refused, and reads no more rows than it takes."""

from __future__ import annotations

from dataclasses import replace

from sqlalchemy import text

from coordinator.dispatch import queue
from tests.integration.coordinator.dispatch.conftest import SeededDatabase, add_runner, runner_info
from tests.integration.coordinator.dispatch.test_queue import add_slow_target

READ = text(
    "SELECT coalesce(idx_tup_fetch, 0) + coalesce(seq_tup_read, 0) FROM pg_stat_xact_user_tables WHERE relname = 'jobs'"
)


async def test_idle_runners_of_one_target_share_what_there_is(place: SeededDatabase) -> None:
    async with place.engine.begin() as connection:
        others = [
            await add_runner(connection, runner_info(f"boot-{n}"), place.suite_id, url=f"http://{n}", secret="")
            for n in range(2, 5)
        ]
    await place.campaign()
    claims = [await replace(place, runner_id=runner).claim(256) for runner in (place.runner_id, *others)]
    assert [len(claim) for claim in claims] == [100, 100, 100, 100]
    assert await place.claim(256) == []


async def test_a_runner_alone_has_no_share(place: SeededDatabase) -> None:
    await place.campaign()
    assert len(await place.claim(256)) == 256


async def test_what_was_refused_goes_last(place: SeededDatabase) -> None:
    await place.campaign(cases=8)
    refused_keys = {job.key for job in await place.claim(3)}
    async with place.engine.begin() as connection:
        await queue.give_back(connection, sorted(refused_keys), "the runner refused it", is_loss=False, is_refusal=True)
    cases = [job.case for job in await place.claim(8)]
    assert cases == [f"torch.cat/{number}" for number in (3, 4, 5, 6, 7, 0, 1, 2)]


async def test_a_claim_reads_nothing_that_may_not_begin(place: SeededDatabase) -> None:
    """Run 2 waits for another target, so none of its 39,600 queued jobs is read."""
    await add_slow_target(place, await place.campaign(runs=100))
    while len(await place.claim(200)) == 200:
        pass
    async with place.engine.begin() as connection:
        before = (await connection.execute(READ)).scalar_one_or_none() or 0
        jobs = await queue.claim(
            connection,
            runner_id=place.runner_id,
            boot_id="boot-1",
            token="t",
            target_id=place.target_id,
            suites=[place.suite_id],
            limit=256,
        )
        read = (await connection.execute(READ)).scalar_one()
    assert jobs == []
    assert read - before < 1_000
