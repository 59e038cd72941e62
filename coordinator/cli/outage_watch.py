"""Waits through outages of a coordinator or its database, for commands that watch campaigns."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from coordinator.campaigns.models import CampaignDetail
from coordinator.cli.interrupts import FirstInterrupt
from coordinator.cli.rest_client import Client
from coordinator.errors import CoordinatorAwayError
from coordinator.figures.formats import duration

T = TypeVar("T")

GIVE_UP_S = 600.0
"""The time after which a command gives up: long enough for a restart of the host or a recovery of the database."""
ASK_AGAIN_S = 0.5


class OutageWatch:
    """Reports an outage once when it begins and once when it ends, and gives up after a time limit.

    When the watch gives up, its error names the campaigns, which may continue, and the command that shows them.
    """

    def __init__(self, say: Callable[[str], None], url: str, *campaigns: int, limit_s: float = GIVE_UP_S) -> None:
        self._say = say
        self._limit_s = limit_s
        self._away_since: float | None = None
        self._advice = f"start again when `portolan status --url {url}` answers"
        if campaigns:
            which = "campaign" if len(campaigns) == 1 else "campaigns"
            commands = ", ".join(f"`portolan status {campaign} --url {url}`" for campaign in campaigns)
            self._advice = (
                f"{which} {', '.join(map(str, campaigns))} can continue without this command: check with {commands}"
            )

    def note_success(self) -> None:
        """Record that the coordinator answered a call."""
        if self._away_since is not None:
            self._say(f"the coordinator is back after {duration(time.monotonic() - self._away_since)}")
        self._away_since = None

    def note_failure(self, error: CoordinatorAwayError) -> None:
        """Record that the coordinator is unreachable. Raises ``CoordinatorAwayError`` after ``GIVE_UP_S``."""
        now = time.monotonic()
        if self._away_since is None:
            self._away_since = now
            self._say(f"{error}; waiting for up to {duration(self._limit_s)}")
        elif now - self._away_since > self._limit_s:
            raise CoordinatorAwayError(
                f"given up after {duration(now - self._away_since)}: {error}; {self._advice}"
            ) from error

    def retry(self, call: Callable[[], T]) -> T:
        """Repeat a call until it succeeds, and return its result. The call must be safe to repeat."""
        while True:
            try:
                result = call()
            except CoordinatorAwayError as error:
                self.note_failure(error)
            else:
                self.note_success()
                return result
            time.sleep(ASK_AGAIN_S)

    def follow(self, client: Client, campaign_id: int) -> Iterator[CampaignDetail]:
        """Yield the campaign's state now, whenever it changes, and at its end."""
        while True:
            try:
                for campaign in client.progress(campaign_id):
                    self.note_success()
                    yield campaign
                return
            except CoordinatorAwayError as error:
                self.note_failure(error)
            time.sleep(ASK_AGAIN_S)


@contextmanager
def telling_what_continues(url: str, campaign_id: int) -> Iterator[None]:
    """When the user stops watching a campaign, print that the campaign continues, and how to follow and stop it."""
    try:
        yield
    except KeyboardInterrupt:
        print(
            f"campaign {campaign_id} continues: follow it with `portolan status {campaign_id} --url {url}`, "
            f"stop it with `portolan cancel {campaign_id} --url {url}`",
            file=sys.stderr,
        )
        raise


def perhaps_stored(url: str) -> str:
    """The sentence about a campaign whose submission was interrupted."""
    return (
        f"interrupted before the coordinator answered: if it stored the campaign, `portolan status --url {url}` "
        "lists it"
    )


@contextmanager
def submit_and_announce(url: str, submit: Callable[[], CampaignDetail]) -> Iterator[CampaignDetail]:
    """Submit a campaign. If the user presses Ctrl-C after the submission, print that the campaign continues, and how to
    follow and stop it.

    Until the coordinator has answered, the number of the campaign is not known, so a first Ctrl-C or SIGTERM waits for
    the answer. A second Ctrl-C ends the command without the number.
    """
    interrupt = FirstInterrupt(
        signal.SIGINT,
        signal.SIGTERM,
        notice="waiting for the coordinator's answer, because the campaign may be stored; Ctrl-C again ends the wait",
    )
    try:
        campaign = submit()
    except KeyboardInterrupt:
        print(perhaps_stored(url), file=sys.stderr)
        raise
    except BaseException:
        interrupt.give_back()
        raise
    with telling_what_continues(url, campaign.id):
        interrupt.give_back()
        if interrupt.take():
            raise KeyboardInterrupt
        yield campaign
