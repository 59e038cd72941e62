"""A job that is lost repeatedly ends after a limit. The device is blamed only if its runners completed other jobs."""

from __future__ import annotations

import pytest

from coordinator.dispatch import lost_attempts, queue
from coordinator.dispatch.finishes import FinishedJob
from protocol.enums import Cause
from tests.integration.coordinator.dispatch.conftest import Place
from tests.integration.coordinator.dispatch.test_queue import finish

PROMISED = 3
"""The limits of losses after a start, and of refusals, for one job (``docs/explanation/promises.md``)."""


@pytest.mark.parametrize(("did_well", "cause"), [(True, Cause.crash), (False, Cause.infrastructure)])
async def test_three_restarts_are_a_crash_only_if_the_runner_finished_another_job_since(
    place: Place, did_well: bool, cause: Cause
) -> None:
    await place.campaign(cases=4)
    ends: list[FinishedJob | None] = []
    for _ in range(PROMISED):
        restarting, other = await place.claim(2)
        async with place.engine.begin() as connection:
            await queue.start(connection, [(place.runner_id, restarting.key)])
        if did_well:
            await finish(place, [other.key])
        else:
            await lost_attempts.give_back(place.engine, [other.key], "it went away", place.runner_id, is_refusal=False)
        ends.append(await lost_attempts.lose(place.engine, restarting.key, "restarted", place.runner_id))
    *earlier, last = ends
    assert earlier == [None, None]
    assert last is not None
    assert last.cause == cause


async def test_a_job_that_runners_refuse_three_times_ends_and_its_outcome_is_accepted(place: Place) -> None:
    await place.campaign(cases=1)
    rules: list[list[str | None]] = []
    for _ in range(PROMISED):
        (job,) = await place.claim()
        given_up = await lost_attempts.give_back(place.engine, [job.key], "refused", place.runner_id, is_refusal=True)
        rules.append([row.rule for row in given_up])
    assert rules == [[], [], ["never-begun"]]
    assert await place.claim() == []
    assert await finish(place, [job.key]) == {job.key.job}


async def test_a_job_that_comes_back_without_a_refusal_goes_on(place: Place) -> None:
    await place.campaign(cases=1)
    for _ in range(2 * PROMISED):
        (job,) = await place.claim()
        assert await lost_attempts.give_back(place.engine, [job.key], "gone", place.runner_id, is_refusal=False) == []
