"""The reaper periodically finds abandoned leases, and finished campaigns that no event announced.

If a claim is committed after its runner was quarantined or removed, no session knows the leases. If two coordinators
settle the last targets of a campaign at the same moment, each sees the other's target as unsettled. Both cases are
rare, and searching for them is cheap.
"""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from coordinator.configuration.times import DEFAULT_TIMES, Times
from coordinator.dispatch import queue
from coordinator.dispatch.leases import Key
from coordinator.registry.ownership import QUARANTINED

# If a lease ends too far in the future, it was made before the clock of the database went back. A runner with a
# session, or one that is about to get a session, is skipped, because its session learns what happened to its jobs.
_ABANDONED = text(f"""
SELECT j.id, j.attempt, j.token FROM jobs j JOIN runners r ON r.id = j.runner_id
 WHERE j.lease_until NOT BETWEEN now() AND now() + make_interval(secs => 2 * :lease_s)
   AND (r.state = 'removed' OR {QUARANTINED})
 ORDER BY j.id
""")

_RUNNING = text("SELECT id FROM campaigns WHERE state = 'running'")


class Sweep(NamedTuple):
    jobs: int
    """The number of jobs that were queued again. No attempt counts as lost for this."""
    campaigns: list[int]
    """The campaigns that were complete and are now marked as done."""


async def sweep(connection: AsyncConnection, times: Times = DEFAULT_TIMES) -> Sweep:
    seconds = {"lease_s": times.lease_s, "longest_quarantine_s": times.longest_quarantine_s}
    abandoned_keys = [Key(row.id, row.attempt, row.token) for row in await connection.execute(_ABANDONED, seconds)]
    if abandoned_keys:
        await queue.give_back(connection, abandoned_keys, "no coordinator serves the job's runner", is_loss=False)
    running = [row.id for row in await connection.execute(_RUNNING)]
    return Sweep(len(abandoned_keys), await queue.complete(connection, running) if running else [])
