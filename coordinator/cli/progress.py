"""Live progress of campaigns: a table that moves on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO

from rich.console import Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from coordinator.campaigns.models import CampaignDetail, Counters
from coordinator.cli.tables import console
from coordinator.formats import duration

PLAIN_EVERY_S = 5.0
RATE_OVER_S = 15.0


@dataclass(frozen=True)
class Bar:
    """How far one target of one campaign is."""

    label: str
    done: int
    total: int
    failing: int
    incomplete: int
    rate: float | None
    """Jobs a second, lately."""
    left_s: float | None

    def __str__(self) -> str:
        return f"{self.label}: {self.done:,}/{self.total:,} done, {self.tail}"

    @property
    def tail(self) -> str:
        parts = [f"{self.failing:,} failing"]
        if self.incomplete:
            parts.append(f"{self.incomplete:,} incomplete")
        if self.done < self.total:
            if self.rate is not None:
                parts.append(f"{self.rate:.1f}/s")
            parts.append(f"{duration(self.left_s)} left" if self.left_s is not None else "time left unknown")
        return ", ".join(parts)


class Pace:
    """How fast something has counted up lately."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, int]] = deque()

    def rate(self, now: float, done: int) -> float | None:
        """Per second over the last ``RATE_OVER_S``; None before anything can be told."""
        if not self._seen or self._seen[-1][1] != done:
            self._seen.append((now, done))
        while len(self._seen) > 2 and self._seen[1][0] < now - RATE_OVER_S:
            self._seen.popleft()
        first_at, first_done = self._seen[0]
        if done == first_done or now <= first_at:
            return None
        return (done - first_done) / (now - first_at)


class Watch:
    """Turns what the coordinator says of a campaign into bars, one a target."""

    def __init__(self) -> None:
        self._paces: dict[tuple[str, str], Pace] = {}

    def bars(self, campaign: CampaignDetail, now: float) -> list[Bar]:
        bars = []
        for each in campaign.by_target:
            counters = each.counters
            done = settled(counters)
            rate = self._paces.setdefault((each.target, each.environment), Pace()).rate(now, done)
            failing, incomplete = counters.failed, counters.incomplete
            bars.append(Bar(each.target, done, counters.total, failing, incomplete, rate, each.estimate.seconds))
        return bars


def settled(counters: Counters) -> int:
    return counters.done + counters.cancelled


class Board:
    """``with Board() as board: board.show([…])``: bars and plain lines, the latest state of things."""

    def __init__(self, stream: IO[str] | None = None) -> None:
        self._console = console(stream or sys.stderr)
        self._live = Live(console=self._console, refresh_per_second=5) if self._console.is_terminal else None
        self._shown: list[str] = []
        self._shown_at = float("-inf")
        self._latest: list[str] = []

    def __enter__(self) -> Board:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()
        else:
            self._print_changes()

    def show(self, rows: Sequence[Bar | str]) -> None:
        if self._live is not None:
            self._live.update(_moving(rows))
            return
        self._latest = [str(row) for row in rows]
        if time.monotonic() - self._shown_at >= PLAIN_EVERY_S:
            self._print_changes()

    def say(self, line: str) -> None:
        """A line that stays, above the moving ones."""
        self._console.print(Text(line))

    def _print_changes(self) -> None:
        new = [line for line in self._latest if line not in self._shown]
        if new:
            for line in new:
                self._console.print(Text(line))
            self._shown, self._shown_at = self._latest, time.monotonic()


def _moving(rows: Sequence[Bar | str]) -> RenderableType:
    parts: list[RenderableType] = []
    table = Table.grid(padding=(0, 2, 0, 0))
    for row in rows:
        if isinstance(row, str):
            parts.append(Text(row, overflow="ellipsis", no_wrap=True))
        else:
            bar = ProgressBar(total=max(row.total, 1), completed=row.done, width=24)
            tail = Text(row.tail, style="red" if row.failing else "")
            table.add_row(row.label, bar, f"{row.done:,}/{row.total:,}", tail)
    return Group(*parts, table)
