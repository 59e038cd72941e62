"""The ownership of runners in the database. Only the owning coordinator posts to a runner, reads its events and
acknowledges them.

All times here are set and compared by the database's clock. If a stored time is further in the future than any valid
time, it was set before the clock went back (a restored virtual machine, a host that booted with a wrong time). It is
then ignored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import func, select, text, update
from sqlalchemy.ext.asyncio import AsyncConnection

from coordinator.configuration.times import DEFAULT_TIMES, Times
from coordinator.database.tables import runner_suites, runners, suites, targets

Address = tuple[str, str]
"""A runner's URL and its secret."""

# Twice the interval, because the comparing transaction may have started before the one that set the time.
_OWNED = "(owner IS NOT NULL AND owner_until BETWEEN now() AND now() + make_interval(secs => 2 * :ownership_s))"
QUARANTINED = (
    "coalesce(quarantined_until BETWEEN now() AND now() + make_interval(secs => 2 * :longest_quarantine_s), false)"
)
"""SQL that is true for a row of ``runners`` in quarantine."""


@dataclass(frozen=True)
class OwnedRunner:
    """A runner, with everything that its owner needs to serve it."""

    id: int
    url: str
    secret: str
    target_id: int
    framework: str
    device: str
    boot_id: str
    cursor: int
    queue_limit: int
    strikes: int
    reason: str | None
    """The reason why the runner was not online when its state last changed; None if it was online."""
    suites: dict[int, tuple[str, str]]
    """The name and revision of each suite. The keys are the suites' ids in the database."""


_COLUMNS = ("id", "url", "secret", "target_id", "boot_id", "cursor", "queue_limit", "strikes", "reason")


async def own(
    connection: AsyncConnection, runner_id: int, identity: str, times: Times = DEFAULT_TIMES
) -> OwnedRunner | None:
    """Become the runner's owner, or renew the ownership. Returns None while another coordinator owns the runner."""
    result = await connection.execute(
        text(f"""
        UPDATE runners SET owner = :me, owner_until = now() + make_interval(secs => :ownership_s)
         WHERE id = :id AND state <> 'removed' AND (owner = :me OR NOT {_OWNED}) AND NOT {QUARANTINED}
        RETURNING id
        """),
        {"me": identity, "id": runner_id, **_seconds(times)},
    )
    if result.scalar_one_or_none() is None:
        return None
    return await read(connection, runner_id)


async def read(connection: AsyncConnection, runner_id: int) -> OwnedRunner:
    row = (
        await connection.execute(
            select(*(runners.c[name] for name in _COLUMNS), targets.c.framework, targets.c.device)
            .join(targets, targets.c.id == runners.c.target_id)
            .where(runners.c.id == runner_id)
        )
    ).one()
    suite_rows = await connection.execute(
        select(suites.c.id, suites.c.name, suites.c.revision)
        .join(runner_suites, runner_suites.c.suite_id == suites.c.id)
        .where(runner_suites.c.runner_id == runner_id)
    )
    return OwnedRunner(**row._mapping, suites={suite.id: (suite.name, suite.revision) for suite in suite_rows})


async def renew(
    connection: AsyncConnection, runner_ids: Sequence[int], identity: str, times: Times = DEFAULT_TIMES
) -> set[int]:
    """Renew the ownership of these runners and their leases. Returns the runners that are still owned."""
    rows = await connection.execute(
        text("""
        UPDATE runners SET owner_until = now() + make_interval(secs => :ownership_s), last_seen = now()
         WHERE id = ANY(CAST(:ids AS int[])) AND owner = :me AND state <> 'removed' RETURNING id
        """),
        {"ids": list(runner_ids), "me": identity, "ownership_s": times.ownership_s},
    )
    ours = {row.id for row in rows}
    # A lease is renewed only if half of its time has passed and the outcome writer does not hold its job. Otherwise a
    # renewal could wait for a finish that waits for the renewal, until PostgreSQL detects the deadlock after a second.
    await connection.execute(
        text("""
        UPDATE jobs SET lease_until = now() + make_interval(secs => :lease)
         WHERE id = ANY(ARRAY(
               SELECT id FROM jobs
                WHERE runner_id = ANY(CAST(:ids AS int[]))
                  AND (lease_until < now() + make_interval(secs => :lease / 2)
                       OR lease_until > now() + make_interval(secs => 2 * :lease))
                  FOR UPDATE SKIP LOCKED))
        """),
        {"ids": sorted(ours), "lease": times.lease_s},
    )
    return ours


async def disown_all(connection: AsyncConnection, identity: str) -> None:
    await connection.execute(update(runners).where(runners.c.owner == identity).values(owner=None, owner_until=None))


async def servable(
    connection: AsyncConnection, identity: str, times: Times = DEFAULT_TIMES
) -> tuple[dict[int, Address], set[int]]:
    """The addresses, by id, of the runners that should be served now, and the ids of the runners that another
    coordinator owns."""
    rows = await connection.execute(
        text(f"""
        SELECT id, url, secret, owner <> :me AND {_OWNED} AS elsewhere FROM runners
         WHERE state <> 'removed' AND NOT {QUARANTINED} ORDER BY id
        """),
        {"me": identity, **_seconds(times)},
    )
    servable_rows = list(rows)
    return {row.id: (row.url, row.secret) for row in servable_rows}, {row.id for row in servable_rows if row.elsewhere}


def _seconds(times: Times) -> dict[str, float]:
    return {"ownership_s": times.ownership_s, "longest_quarantine_s": times.longest_quarantine_s}


async def count_by_state(connection: AsyncConnection) -> dict[str, int]:
    """The number of runners in each state."""
    rows = await connection.execute(text("SELECT state, count(*) AS runners FROM runners GROUP BY state"))
    return {row.state: row.runners for row in rows}


async def set_state(connection: AsyncConnection, runner_id: int, state: str, reason: str | None) -> None:
    await connection.execute(
        update(runners)
        .where(runners.c.id == runner_id, runners.c.state != "removed")
        .values(state=state, reason=reason, quarantined_until=None)
    )


async def set_boot(connection: AsyncConnection, runner_id: int, boot_id: str) -> None:
    """Store a new boot and reset the cursor, because each boot numbers its events from 1."""
    await connection.execute(
        update(runners).where(runners.c.id == runner_id).values(boot_id=boot_id, cursor=0, last_seen=func.now())
    )


async def skip_to(connection: AsyncConnection, runner_id: int, boot_id: str, n: int) -> None:
    """Move the cursor to ``n``, because the earlier events of this boot are lost."""
    await connection.execute(
        update(runners)
        .where(runners.c.id == runner_id, runners.c.boot_id == boot_id, runners.c.cursor < n)
        .values(cursor=n)
    )


async def rewind(connection: AsyncConnection, runner_id: int, boot_id: str) -> None:
    """Reset the cursor to the beginning, because this boot has not issued the number of the cursor."""
    await connection.execute(
        update(runners).where(runners.c.id == runner_id, runners.c.boot_id == boot_id).values(cursor=0)
    )


async def quarantine(connection: AsyncConnection, runner_id: int, seconds: float, strikes: int, reason: str) -> None:
    await connection.execute(
        text("""
        UPDATE runners SET state = 'quarantined', reason = :reason, strikes = :strikes,
               quarantined_until = now() + make_interval(secs => :seconds), owner = NULL, owner_until = NULL
         WHERE id = :id AND state <> 'removed'
        """),
        {"id": runner_id, "seconds": seconds, "strikes": strikes, "reason": reason},
    )
