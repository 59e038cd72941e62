"""Waiting for a coordinator, or its database, that is away for a while: a watcher survives that."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TypeVar

from coordinator.campaigns.models import CampaignDetail
from coordinator.cli.client import Client
from coordinator.errors import CoordinatorAwayError
from coordinator.formats import duration

T = TypeVar("T")

GIVE_UP_S = 600.0
"""A host restarts, a database is restored from its log: past this somebody has to look."""
ASK_AGAIN_S = 0.5


class Patience:
    """Says once that the coordinator is away and once that it is back, and gives up in the end.

    ``goes_on`` tells what happens to the work meanwhile, and how to see it; it ends the message
    of the ``CoordinatorAwayError`` with which ``lost`` gives up.
    """

    def __init__(self, say: Callable[[str], None], goes_on: str, limit_s: float = GIVE_UP_S) -> None:
        self._say = say
        self._goes_on = goes_on
        self._limit_s = limit_s
        self._away_since: float | None = None

    def heard(self) -> None:
        """The coordinator did its part."""
        if self._away_since is not None:
            self._say(f"it is back after {duration(time.monotonic() - self._away_since)}")
        self._away_since = None

    def lost(self, error: CoordinatorAwayError) -> None:
        """The coordinator did not; raises when it has been away for too long."""
        now = time.monotonic()
        if self._away_since is None:
            self._away_since = now
            self._say(f"{error}; waiting for it, for up to {duration(self._limit_s)}")
        elif now - self._away_since > self._limit_s:
            raise CoordinatorAwayError(
                f"given up after {duration(now - self._away_since)}: {error}; {self._goes_on}"
            ) from error

    def ask(self, question: Callable[[], T]) -> T:
        """The answer, whenever it comes; for questions that change nothing if they are asked twice."""
        while True:
            try:
                answer = question()
            except CoordinatorAwayError as error:
                self.lost(error)
            else:
                self.heard()
                return answer
            time.sleep(ASK_AGAIN_S)


def follow(client: Client, campaign_id: int, patience: Patience) -> Iterator[CampaignDetail]:
    """The campaign now, whenever something changes, and at its end. Outlasts restarts of coordinator and database."""
    while True:
        try:
            for campaign in client.progress(campaign_id):
                patience.heard()
                yield campaign
                if campaign.state != "running":
                    return
        except CoordinatorAwayError as error:
            patience.lost(error)
        time.sleep(ASK_AGAIN_S)


def of_campaigns(say: Callable[[str], None], url: str, *campaigns: int, limit_s: float = GIVE_UP_S) -> Patience:
    """Patience with what watches these campaigns."""
    if not campaigns:
        return Patience(say, f"start again when `portolan status --url {url}` answers", limit_s)
    which = "campaign" if len(campaigns) == 1 else "campaigns"
    shown = ", ".join(f"`portolan status {campaign} --url {url}`" for campaign in campaigns)
    return Patience(say, f"{which} {', '.join(map(str, campaigns))} can go on without us: {shown} shows it", limit_s)
