"""Finds the jobs that wait, and chooses the idle sessions that claim them.

One query serves all runners of a coordinator, whenever work is announced and every few seconds. If each of a thousand
idle runners had its own query, these queries alone would occupy the database.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from coordinator.campaigns.plan import MAX_RUNS
from coordinator.dispatch.queue import startable_campaigns

Name = TypeVar("Name")


class RunnerOffer(NamedTuple):
    """The work that a runner offers to do: the jobs of one suite for one target."""

    target_id: int
    suite_id: int


_WAITING = text(f"""
WITH open AS MATERIALIZED ({startable_campaigns("ours.target_id = ANY(CAST(:targets AS int[]))")})
SELECT open.target_id, open.suite_id, sum(queued.jobs)::int AS jobs
  FROM open
 CROSS JOIN LATERAL (
       SELECT count(*) AS jobs
         FROM (SELECT FROM jobs
                WHERE state = 'queued' AND target_id = open.target_id
                  AND priority BETWEEN open.campaign_id * {MAX_RUNS} AND open.priority LIMIT :most) first) queued
 GROUP BY open.target_id, open.suite_id
""")


async def waiting(connection: AsyncConnection, targets: Collection[int], most: int) -> dict[RunnerOffer, int]:
    """For each of these offers, the number of jobs that may start now. At most ``most`` jobs of a campaign are
    counted."""
    rows = await connection.execute(_WAITING, {"targets": sorted(targets), "most": most})
    return {RunnerOffer(row.target_id, row.suite_id): row.jobs for row in rows}


def choose(
    waiting: Mapping[RunnerOffer, int], idle: Sequence[tuple[Name, Collection[RunnerOffer]]], begin: int = 0
) -> Iterator[Name]:
    """Choose the idle sessions that should claim jobs, one session per waiting job. ``begin`` changes with each call,
    so that each session comes first at some time."""
    left = dict(waiting)
    turn = begin % len(idle) if idle else 0
    for name, offers in [*idle[turn:], *idle[:turn]]:
        offer = next((offer for offer in offers if left.get(offer, 0) > 0), None)
        if offer is not None:
            left[offer] -= 1
            yield name
