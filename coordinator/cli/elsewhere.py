"""The demo's campaigns on a coordinator that runs already, and following a campaign in a thread."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from coordinator.campaigns.models import CampaignDetail
from coordinator.cli.client import Client
from coordinator.cli.patience import follow, of_campaigns
from coordinator.cli.progress import Bar, Board, bars
from coordinator.errors import CoordinatorError, PortolanError
from coordinator.formats import duration, plural

NAME = "demo"
Work = dict[str, Any]
"""The members of a submission that are the same for each campaign of a demo: the functions, and how many runs."""
RUNNERS_LIMIT_S = 180.0
"""How long to wait for runners that have been asked for by name; importing a framework takes its time."""
LOOK_EVERY_S = 0.5


class Follower:
    """Follows one campaign in a thread; ``latest`` is what it knows."""

    def __init__(self, url: str, campaign: CampaignDetail, say: Callable[[str], None]) -> None:
        self.latest = campaign
        self.error: PortolanError | None = None
        self._url = url
        self._patience = of_campaigns(say, url, campaign.id)
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()

    @property
    def ended(self) -> bool:
        return not self._thread.is_alive()

    def bars(self) -> list[Bar]:
        return bars(self.latest)

    def _follow(self) -> None:
        try:
            with Client(self._url) as client:
                for campaign in follow(client, self.latest.id, self._patience):
                    self.latest = campaign
        except PortolanError as error:
            self.error = error


def cancel_leftovers(client: Client, name: str, say: Callable[[str], None]) -> None:
    """What an interrupted demo left queued would go before ours."""
    for campaign in client.campaigns().campaigns:
        if campaign.name == name and campaign.state == "running":
            client.cancel(campaign.id)
            say(f"campaign {campaign.id}, of a demo that was interrupted: cancelled")


def chart(client: Client, targets: Sequence[str] | None, work: Work, board: Board) -> list[int]:
    """One campaign for each framework on the runners that are online, to their ends; their ids."""
    patience = of_campaigns(board.say, client.url)
    patience.ask(lambda: cancel_leftovers(client, NAME, board.say))
    groups: dict[str, list[str]] = {}
    for target in patience.ask(lambda: _online(client, targets, board)):
        groups.setdefault(target.split("/")[0], []).append(target)
    followers = []
    for serving in groups.values():
        campaign = client.submit({"name": NAME, "targets": serving, **work})
        board.say(f"campaign {campaign.id}: {plural(campaign.counters.total, 'job')} on {', '.join(serving)}")
        followers.append(Follower(client.url, campaign, board.say))
    while not all(each.ended for each in followers):
        board.show([bar for each in followers for bar in each.bars()])
        time.sleep(LOOK_EVERY_S)
    board.show([])
    for each in followers:
        if each.error is not None:
            raise each.error
    return [each.latest.id for each in followers]


def _online(client: Client, wanted: Sequence[str] | None, board: Board) -> list[str]:
    """The targets to chart: those that are online now, or those asked for as soon as they are."""
    began = time.monotonic()
    while True:
        online = {f"{each.framework}/{each.device}" for each in client.runners() if each.state == "online"}
        missing = sorted(set(wanted or ()) - online)
        elapsed = time.monotonic() - began
        if not missing or elapsed > RUNNERS_LIMIT_S:
            break
        board.show([f"waiting for the runners of {', '.join(missing)}, {duration(elapsed)}"])
        time.sleep(LOOK_EVERY_S)
    for target in missing:
        board.say(f"{target}: left out, no runner of it is online after {duration(RUNNERS_LIMIT_S)}")
    chosen = sorted(online) if wanted is None else [each for each in wanted if each in online]
    if not chosen:
        raise CoordinatorError(f"no runner is online at {client.url}: see `portolan runner list --url {client.url}`")
    return chosen
