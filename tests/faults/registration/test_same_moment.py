"""Two simultaneous requests for one runner: the second is stored after the first has read the registered runners, and
before the first stores."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import pytest
from sqlalchemy import event
from sqlalchemy.ext.asyncio import AsyncEngine

from coordinator.database.connection import engine as make_engine
from coordinator.errors import ConflictError
from coordinator.registry import service
from coordinator.registry.enrolment import RegistryEntry, enrol
from coordinator.registry.models import RunnerRegistration
from protocol.enrolment import Enrolment
from protocol.enrolment_tokens import EnrolmentToken
from tests.database_roles import application
from tests.runner_process import RunnerProcess
from tests.waiting import LIMIT_S

SECRET = "provisional"
KEY = "of-no-coordinator"
LOOKS_FOR_A_TWIN = "runners.boot_id = "

Asks = Callable[[AsyncEngine], Awaitable[Any]]


@pytest.fixture
def url() -> Iterator[str]:
    runner = RunnerProcess(PORTOLAN_RUNNER_SECRET=SECRET)
    yield runner.ready["url"]
    runner.stop()


@pytest.fixture
async def engine(database: str) -> AsyncIterator[AsyncEngine]:
    engine = make_engine(application(database))
    yield engine
    await engine.dispose()


def enrolling(url: str, name: str) -> Callable[[AsyncEngine], Awaitable[RegistryEntry]]:
    token = EnrolmentToken.make(KEY, name, "hazards/cpu")
    return lambda engine: enrol(engine, Enrolment(name=name, url=url, secret=SECRET), token)


def forestall(engine: AsyncEngine, database: str, other: Asks) -> list[Any]:
    """Run the second request when the first searches for a runner with the same identity. Its response is added to the
    list."""
    answers: list[Any] = []

    async def do() -> Any:
        engine = make_engine(application(database))
        try:
            return await other(engine)
        finally:
            await engine.dispose()

    def meanwhile(_connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        if LOOKS_FOR_A_TWIN in statement and not answers:
            asks = threading.Thread(target=lambda: answers.append(asyncio.run(do())), daemon=True)
            asks.start()
            asks.join(LIMIT_S)
            assert not asks.is_alive(), "it waits for what this statement's transaction holds"

    event.listen(engine.sync_engine, "before_cursor_execute", meanwhile)
    return answers


async def test_one_runner_that_asked_twice_is_enrolled_once(engine: AsyncEngine, database: str, url: str) -> None:
    asks = enrolling(url, "alpha")
    others = forestall(engine, database, asks)
    entry = await asks(engine)
    assert (others[0].created, entry.created) == (True, False)
    assert entry.runner_id == others[0].runner_id


async def test_a_runner_of_two_names_has_the_first(engine: AsyncEngine, database: str, url: str) -> None:
    others = forestall(engine, database, enrolling(url, "beta"))
    with pytest.raises(ConflictError, match=r"beta at .* enrolled at the same moment as alpha"):
        await enrolling(url, "alpha")(engine)
    assert [runner.id for runner in await service.list_runners(engine)] == [others[0].runner_id]


async def test_a_runner_registered_twice_is_there_once(engine: AsyncEngine, database: str, url: str) -> None:
    def asks(engine: AsyncEngine) -> Awaitable[Any]:
        return service.register(engine, RunnerRegistration(url=url, secret=SECRET))

    others = forestall(engine, database, asks)
    assert (await asks(engine)).id == others[0].id
