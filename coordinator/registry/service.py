"""Registers runners, and updates registrations after a restart."""

from __future__ import annotations

from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from coordinator.configuration.times import DEFAULT_TIMES, Times
from coordinator.database.connection import transact
from coordinator.database.outage import is_refused
from coordinator.errors import NotFoundError, RunnerIdentityError, RunnerIncompatibleError
from coordinator.registry import ownership, store
from coordinator.registry.client import probe
from coordinator.registry.models import JobInFlight, RecentOutcome, Runner, RunnerRegistration, Work
from coordinator.registry.ownership import OwnedRunner
from coordinator.registry.suites import store_suites
from coordinator.text.plain_text import plain_text
from protocol.catalogue import Catalogue
from protocol.runner import RunnerInfo


async def register(engine: AsyncEngine, registration: RunnerRegistration, times: Times = DEFAULT_TIMES) -> Runner:
    """Probe the runner and register it. Registering the same URL again updates the registration.

    Raises an ``UnusableRunnerError`` if the runner does not respond, refuses the secret, is not a runner, or serves
    other cases than those that are stored for the suite's revision. In these cases nothing is stored.
    """
    info, catalogue = await probe(registration.url, registration.secret, times)
    return await get(engine, await enter(engine, registration, info, catalogue))


async def enter(engine: AsyncEngine, registration: RunnerRegistration, info: RunnerInfo, catalogue: Catalogue) -> int:
    """Store the description and catalogue of a runner that registers, and return its id."""

    async def work(connection: AsyncConnection) -> int:
        existing_id = await store.lock_registration_at(connection, registration.url)
        return await put(connection, existing_id, info, catalogue, url=registration.url, secret=registration.secret)

    try:
        return await transact(engine, work)
    except (IntegrityError, RunnerIdentityError):
        # Another request may have registered the runner meanwhile. Its row then exists and can be updated.
        return await transact(engine, work)


async def refresh(engine: AsyncEngine, runner: OwnedRunner, info: RunnerInfo, catalogue: Catalogue) -> OwnedRunner:
    """Update a registration to a new boot, which may have another version, environment or suite revision.

    The registered address does not change, because the runner may meanwhile have enrolled again at another address.
    Raises an ``UnusableRunnerError`` if the runner has another framework or device, has the boot id of another
    registration, or serves other cases than those that are stored for the suite's revision. In these cases the
    registration and its old boot do not change.
    """
    was, now = f"{runner.framework}/{runner.device}", f"{info.framework}/{info.device}"
    if was != now:
        raise RunnerIdentityError(
            f"the runner at {runner.url} was registered for {was} and serves {plain_text(now)} now: "
            "register it again if this is intended"
        )

    async def work(connection: AsyncConnection) -> OwnedRunner:
        # Lock in the same order as registrations and enrolments, before suites and target.
        await store.lock_registration(connection, runner.id)
        await put(connection, runner.id, info, catalogue)
        await ownership.set_boot(connection, runner.id, info.boot_id)
        return await ownership.read(connection, runner.id)

    return await transact(engine, work)


async def put(
    connection: AsyncConnection, runner_id: int | None, info: RunnerInfo, catalogue: Catalogue, **address: str
) -> int:
    """Store a runner's description and catalogue, and return the registration's id. ``runner_id`` is a locked
    registration; None creates a new one.

    The suites are stored last, because the lock of their revision must be taken last. Raises an
    ``UnusableRunnerError``.
    """
    twin = await store.find_twin(connection, info.boot_id, runner_id)
    if twin is not None:
        raise RunnerIdentityError(
            f"the runner has the same boot_id as runner {twin.id} at {twin.url}, and a runner is registered only once: "
            f"if the runner has a new URL, run `portolan runner remove {twin.id}` first; "
            "otherwise do not register it again"
        )
    try:
        stored_id = await store.store_runner(connection, runner_id, info, **address)
        await store.store_offer(connection, stored_id, await store_suites(connection, info.framework, catalogue))
        return stored_id
    except DBAPIError as error:
        if is_refused(error):
            raise RunnerIncompatibleError(
                "the runner's description or catalogue has a value that the database cannot store: "
                "text must be without NUL, and numbers below 2,147,483,648"
            ) from error
        raise


async def list_runners(engine: AsyncEngine) -> list[Runner]:
    async with engine.connect() as connection:
        return [Runner.model_validate(row._mapping) for row in await store.list_runners(connection)]


async def get(engine: AsyncEngine, runner_id: int) -> Runner:
    async with engine.connect() as connection:
        rows = await store.list_runners(connection, runner_id)
    if not rows:
        raise NotFoundError(f"there is no runner {runner_id}: `portolan runner list` shows the registered runners")
    return Runner.model_validate(rows[0]._mapping)


async def waiting(engine: AsyncEngine) -> dict[int, int]:
    """For each runner, the number of jobs that wait for its target. Runners without waiting jobs are not included."""
    async with engine.connect() as connection:
        return await store.count_waiting_jobs(connection)


async def work(engine: AsyncEngine, runner_id: int, most: int) -> Work:
    """A runner's current jobs and its latest outcomes, at most ``most`` of each."""
    async with engine.connect() as connection:
        in_flight = await store.list_jobs_in_flight(connection, runner_id, most)
        recent = await store.list_recent_outcomes(connection, runner_id, most)
    return Work(
        in_flight=[JobInFlight.model_validate(row._mapping) for row in in_flight],
        recent=[RecentOutcome.model_validate(row._mapping) for row in recent],
    )


async def remove(engine: AsyncEngine, runner_id: int) -> None:
    async def work(connection: AsyncConnection) -> None:
        if not await store.remove_runner(connection, runner_id):
            raise NotFoundError(f"there is no runner {runner_id}: `portolan runner list` shows the registered runners")

    await transact(engine, work)
