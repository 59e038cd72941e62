"""Decides whether a campaign or a suite may be deleted, and deletes it with everything that depends on it.

A campaign can be deleted if it has ended and no runner has a job of it, so that no event arrives for a deleted job. A
suite can be deleted if no campaign has outcomes of it and no runner serves it.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from coordinator.database.connection import allow_long_statements, transact
from coordinator.deletion import store
from coordinator.deletion.models import DeletedCampaign, StoredSuite, StoredSuites
from coordinator.errors import ConflictError, NotFoundError
from coordinator.figures.formats import join_words
from coordinator.results.refresh_store import lock_exclusively

MOST_NAMED = 5


async def delete_campaign(engine: AsyncEngine, campaign_id: int) -> DeletedCampaign:
    """Delete a campaign. Raises ``NotFoundError``, or ``ConflictError`` while it runs."""

    async def work(connection: AsyncConnection) -> DeletedCampaign:
        # Lock out refreshes of the campaign's matrix until the campaign is deleted.
        await lock_exclusively(connection, campaign_id, wait=True)
        campaign = await store.lock_campaign(connection, campaign_id)
        if campaign is None:
            raise NotFoundError(f"there is no campaign {campaign_id}: `portolan status` shows the existing campaigns")
        if campaign.state == "running":
            raise ConflictError(f"campaign {campaign_id} is running: cancel it first, or wait for its end")
        if campaign.in_flight:
            raise ConflictError(f"jobs of campaign {campaign_id} are still being stopped: try again in some seconds")
        suites = await store.suites_of(connection, campaign_id)
        jobs, outcomes = await store.delete_campaign(connection, campaign_id)
        if campaign.imported:
            await _delete_bundled(connection, suites)
        return DeletedCampaign(id=campaign_id, name=campaign.name, jobs=jobs, outcomes=outcomes)

    return await transact(engine, work)


async def _delete_bundled(connection: AsyncConnection, suites: Sequence[int]) -> None:
    """Delete the suites that a bundle added, unless another bundle has the same cases."""
    for suite_id in suites:
        suite = await store.read_suite(connection, suite_id)
        if suite is not None and suite.origin == "bundle" and not suite.campaigns:
            await store.delete_suite(connection, suite_id)


async def list_suites(engine: AsyncEngine) -> StoredSuites:
    async with engine.connect() as connection:
        rows = await store.list_suites(connection)
    return StoredSuites(suites=[StoredSuite.model_validate(row._mapping) for row in rows])


async def delete_suite(engine: AsyncEngine, suite_id: int) -> StoredSuite:
    """Delete a suite. Raises ``NotFoundError``. Raises ``ConflictError`` while campaigns have outcomes of it or a
    runner serves it."""

    async def work(connection: AsyncConnection) -> StoredSuite:
        await allow_long_statements(connection)
        row = await store.read_suite(connection, suite_id)
        if row is None:
            raise NotFoundError(
                f"there is no suite {suite_id}: `portolan delete suite` without an id lists the stored suites"
            )
        suite = StoredSuite.model_validate(row._mapping)
        if suite.runners:
            raise ConflictError(
                f"suite {suite_id} is served by {_noun_with_ids('runner', suite.runners)}: remove the runners first"
            )
        if suite.campaigns:
            raise ConflictError(
                f"suite {suite_id} has outcomes in {_noun_with_ids('campaign', suite.campaigns)}: "
                "delete the campaigns first"
            )
        await store.delete_suite(connection, suite_id)
        return suite

    try:
        return await transact(engine, work)
    except IntegrityError as error:
        raise ConflictError(
            f"suite {suite_id} is now used by a campaign or a runner: `portolan delete suite` shows what uses it"
        ) from error


def _noun_with_ids(noun: str, ids: Sequence[int]) -> str:
    """The noun with its ids: ``campaign 3``, or ``campaigns 3, 5 and 8``. If there are many ids, only the first ones
    are named."""
    return f"{noun}{'s' if len(ids) > 1 else ''} {join_words([*map(str, ids)], MOST_NAMED)}"
