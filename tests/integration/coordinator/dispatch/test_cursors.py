"""A cursor belongs to one boot of one runner. It advances with stored events, and a new boot sets it to the
beginning."""

from __future__ import annotations

from sqlalchemy import text

from coordinator.dispatch import queue
from coordinator.dispatch.queue import Cursor
from coordinator.registry import ownership
from tests.integration.coordinator.dispatch.conftest import SeededDatabase
from tests.integration.coordinator.dispatch.test_queue import finish

BOOT, OTHER_BOOT = "boot-1", "boot-0"


async def cursor(place: SeededDatabase) -> int:
    async with place.engine.connect() as connection:
        return (await connection.execute(text("SELECT cursor FROM runners"))).scalar_one()


async def move(place: SeededDatabase, boot_id: str, n: int) -> None:
    async with place.engine.begin() as connection:
        await queue.move_cursors(connection, [Cursor(place.runner_id, boot_id, n)])


async def test_a_cursor_moves_on_only_and_by_events_of_its_own_boot_only(place: SeededDatabase) -> None:
    await move(place, BOOT, 5)
    assert await cursor(place) == 5
    await move(place, OTHER_BOOT, 9)
    await move(place, BOOT, 3)
    assert await cursor(place) == 5


async def test_an_outcome_of_an_earlier_boot_moves_no_cursor(place: SeededDatabase) -> None:
    await place.campaign(cases=1)
    (job,) = await place.claim()
    async with place.engine.begin() as connection:
        await ownership.set_boot(connection, place.runner_id, OTHER_BOOT)
    assert await finish(place, [job.key], n=7) == {job.key.job}
    assert await cursor(place) == 0


async def test_a_boot_is_read_from_its_beginning_after_a_rewind_and_a_new_one_always(place: SeededDatabase) -> None:
    await move(place, BOOT, 5)
    async with place.engine.begin() as connection:
        await ownership.rewind(connection, place.runner_id, OTHER_BOOT)
    assert await cursor(place) == 5
    async with place.engine.begin() as connection:
        await ownership.rewind(connection, place.runner_id, BOOT)
    assert await cursor(place) == 0
    await move(place, BOOT, 5)
    async with place.engine.begin() as connection:
        await ownership.set_boot(connection, place.runner_id, OTHER_BOOT)
    assert await cursor(place) == 0


async def test_events_that_can_no_longer_be_had_are_skipped_forwards_in_their_own_boot(place: SeededDatabase) -> None:
    await move(place, BOOT, 5)
    for boot_id, n in ((OTHER_BOOT, 9), (BOOT, 3)):
        async with place.engine.begin() as connection:
            await ownership.skip_to(connection, place.runner_id, boot_id, n)
        assert await cursor(place) == 5
    async with place.engine.begin() as connection:
        await ownership.skip_to(connection, place.runner_id, BOOT, 8)
    assert await cursor(place) == 8
