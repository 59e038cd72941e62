"""Requests succeed while other transactions change the same jobs and the same runner."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from coordinator.access.caller import Caller
from coordinator.access.roles import Role
from coordinator.campaigns import service as campaigns
from coordinator.database import connection as connections
from coordinator.registry import ownership, store
from coordinator.registry import service as registry
from coordinator.registry.models import RunnerRegistration
from protocol.catalogue import Catalogue, CatalogueCase, CatalogueSuite
from tests.integration.coordinator.dispatch.conftest import SECRET, URL, SeededDatabase, runner_info

WAITING = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
LOCK = "SELECT id FROM jobs WHERE state = 'leased' ORDER BY id {order} LIMIT 1 FOR UPDATE"
CATALOGUE = Catalogue(suites=[])


@asynccontextmanager
async def finishing(place: SeededDatabase) -> AsyncIterator[AsyncConnection]:
    """A transaction that holds the last of the runner's jobs. PostgreSQL never ends it to resolve a deadlock."""
    await place.claim(5)
    async with place.owner.begin() as connection:
        await connection.execute(text("SET LOCAL deadlock_timeout = '1min'"))
        await connection.execute(text(LOCK.format(order="DESC")))
        yield connection


async def waits(place: SeededDatabase, many: int = 1) -> None:
    async with asyncio.timeout(60), place.engine.connect() as connection:
        while (await connection.execute(text(WAITING))).scalar_one() < many:
            await connection.rollback()


async def states(place: SeededDatabase) -> set[str]:
    async with place.engine.connect() as connection:
        return {row.state for row in await connection.execute(text("SELECT state FROM jobs"))}


async def test_a_runner_is_removed_while_a_finish_is_about_to_move_its_cursor(place: SeededDatabase) -> None:
    """Both transactions lock the jobs first and the runner last, so one waits and neither is ended."""
    await place.campaign(cases=5)

    async def remove() -> None:
        async with place.engine.begin() as connection:
            assert await store.remove_runner(connection, place.runner_id)

    async with asyncio.timeout(60):
        async with finishing(place) as connection:
            removal = asyncio.create_task(remove())
            await waits(place)
            await connection.execute(text("UPDATE runners SET last_seen = now()"))
        await removal
    assert await states(place) == {"queued"}


async def cancel(place: SeededDatabase, campaign: int) -> None:
    await campaigns.cancel(place.engine, campaign, Caller("admin", Role.admin, "token"))


async def remove_runner(place: SeededDatabase, _: int) -> None:
    await registry.remove(place.engine, place.runner_id)


@pytest.mark.parametrize(("ask", "left"), [(cancel, "cancelled"), (remove_runner, "queued")])
async def test_who_loses_a_deadlock_begins_again(
    place: SeededDatabase, ask: Callable[[SeededDatabase, int], Awaitable[None]], left: str
) -> None:
    campaign = await place.campaign(cases=5)
    async with asyncio.timeout(60):
        async with finishing(place) as connection:
            asking = asyncio.ensure_future(ask(place, campaign))
            await waits(place)
            await connection.execute(text(LOCK.format(order="ASC")))
        await asking
    assert await states(place) == {left}


async def test_a_restarted_runner_is_registered_while_its_coordinator_finds_it_restarted(
    place: SeededDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both transactions lock the runner before its target, so one waits and neither is ended."""
    monkeypatch.setattr(connections, "ATTEMPTS", 1)
    again = runner_info("boot-2")
    async with place.engine.connect() as connection:
        known_runner = await ownership.read(connection, place.runner_id)
    async with asyncio.timeout(60):
        async with place.engine.begin() as connection:
            await connection.execute(text("SELECT id FROM targets FOR UPDATE"))
            refreshing = asyncio.create_task(registry.refresh(place.engine, known_runner, again, CATALOGUE))
            await waits(place)
            registration = RunnerRegistration(url=URL, secret=SECRET)
            registering = asyncio.create_task(registry.enter(place.engine, registration, again, CATALOGUE))
            await waits(place, 2)
        assert await registering == place.runner_id
        assert (await refreshing).boot_id == "boot-2"


async def test_a_runner_that_two_register_at_once_is_one_runner(place: SeededDatabase) -> None:
    registration = RunnerRegistration(url="http://new", secret=SECRET)
    async with asyncio.timeout(60):
        async with place.engine.begin() as connection:
            first = await store.store_runner(
                connection, None, runner_info("boot-3"), url=registration.url, secret="another"
            )
            second = asyncio.create_task(registry.enter(place.engine, registration, runner_info("boot-2"), CATALOGUE))
            await waits(place)
        assert await second == first


async def test_two_that_list_the_same_new_suites_in_other_orders_both_register(
    place: SeededDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both transactions store the suites in the order of their names, so one waits and neither is ended."""
    monkeypatch.setattr(connections, "ATTEMPTS", 1)
    catalogue_suites = [
        CatalogueSuite(name=name, revision="r", cases=[CatalogueCase(id=f"{name}/0", function=name)])
        for name in ("first", "second")
    ]

    def enter(number: int, suites: list[CatalogueSuite]) -> asyncio.Task[int]:
        """Register runners with different targets, because otherwise they would wait for a common target."""
        info = runner_info(f"boot-of-{number}")
        info = info.model_copy(update={"version": f"2.{number}"})
        registration = RunnerRegistration(url=f"http://runner-{number}", secret=SECRET)
        return asyncio.create_task(registry.enter(place.engine, registration, info, Catalogue(suites=suites)))

    async with asyncio.timeout(60):
        async with place.engine.begin() as connection:
            lock = "SELECT pg_advisory_xact_lock(hashtextextended(:key, 0))"
            await connection.execute(text(lock), {"key": "first\ntorch\nr"})
            one = enter(1, catalogue_suites)
            await waits(place)
            other = enter(2, catalogue_suites[::-1])
            await waits(place, 2)
        assert await one != await other
