"""Live progress of campaigns: bars that move on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import IO

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress import BarColumn, Progress, Task, TaskID, TextColumn
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
    environment: str
    """Targets of one name can differ in it."""
    done: int
    total: int
    failing: int
    incomplete: int
    left_s: float | None

    def tail(self, rate: float | None) -> str:
        """How many cases do not pass, how many jobs a second are done of late, and how long it will take."""
        parts = [f"{self.failing:,} failing"]
        if self.incomplete:
            parts.append(f"{self.incomplete:,} incomplete")
        if self.done < self.total:
            if rate is not None:
                parts.append(f"{rate:.1f}/s")
            parts.append(f"{duration(self.left_s)} left" if self.left_s is not None else "time left unknown")
        return ", ".join(parts)


def bars(campaign: CampaignDetail) -> list[Bar]:
    """One bar for each target of a campaign."""
    return [
        Bar(
            target.target,
            target.environment,
            settled(target.counters),
            target.counters.total,
            target.counters.failed,
            target.counters.incomplete,
            target.estimate.seconds,
        )
        for target in campaign.by_target
    ]


def settled(counters: Counters) -> int:
    return counters.done + counters.cancelled


class Board:
    """``with Board() as board: board.show([…])``: bars and plain lines, the latest state of things."""

    def __init__(self, stream: IO[str] | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._console = console(stream or sys.stderr)
        self._clock = clock
        self._bars = BarsOfTargets(self._console, clock)
        self._live = Live(console=self._console, refresh_per_second=5) if self._console.is_terminal else None
        self._printed: list[str] = []
        self._printed_at = float("-inf")
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
        lines = [row for row in rows if isinstance(row, str)]
        self._bars.show([row for row in rows if isinstance(row, Bar)])
        if self._live is not None:
            self._live.update(Group(*map(Text, lines), self._bars.get_renderable()))
            return
        self._latest = [*lines, *self._bars.lines()]
        if self._clock() - self._printed_at >= PLAIN_EVERY_S:
            self._print_changes()

    def say(self, line: str) -> None:
        """A line that stays, above the moving ones."""
        self._console.print(Text(line))

    def _print_changes(self) -> None:
        new = [line for line in self._latest if line not in self._printed]
        if new:
            for line in new:
                self._console.print(Text(line))
            self._printed, self._printed_at = self._latest, self._clock()


class BarsOfTargets(Progress):
    """A bar for each target, and below it the tail: side by side they are wider than many a terminal."""

    def __init__(self, console: Console, clock: Callable[[], float]) -> None:
        count = TextColumn("{task.completed:,.0f}/{task.total:,.0f}", markup=False)
        super().__init__(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            count,
            console=console,
            auto_refresh=False,
            speed_estimate_period=RATE_OVER_S,
            get_time=clock,
        )
        self._ids: dict[tuple[str, str], TaskID] = {}

    def show(self, bars: Sequence[Bar]) -> None:
        """Make the tasks those of these bars."""
        width = max((len(bar.label) for bar in bars), default=0)
        shown = {(bar.label, bar.environment): bar for bar in bars}
        for gone in self._ids.keys() - shown.keys():
            self.remove_task(self._ids.pop(gone))
        for key, bar in shown.items():
            if key not in self._ids:
                self._ids[key] = self.add_task("", total=bar.total, completed=bar.done)
            self.update(
                self._ids[key],
                description=bar.label.ljust(width),
                completed=bar.done,
                total=bar.total,
                bar=bar,
            )

    def lines(self) -> list[str]:
        """The same as plain text."""
        return [f"{bar.label}: {bar.done:,}/{bar.total:,} done, {bar.tail(task.speed)}" for task, bar in self._shown()]

    def get_renderables(self) -> Iterable[RenderableType]:
        for task, bar in self._shown():
            yield self.make_tasks_table([task])
            yield Text(f"  {bar.tail(task.speed)}", style="red" if bar.failing else "")

    def _shown(self) -> list[tuple[Task, Bar]]:
        return [(task, task.fields["bar"]) for task in self.tasks]
