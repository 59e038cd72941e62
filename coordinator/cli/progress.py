"""Live progress of campaigns: bars that move on a terminal, occasional lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Sequence
from typing import IO

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress import BarColumn, Progress, Task, TaskID, TextColumn
from rich.text import Text

from coordinator.campaigns.models import CampaignTarget, TimeEstimate
from coordinator.cli.terminal_console import console

PLAIN_EVERY_S = 60.0
"""The seconds between lines of a target where bars cannot move, as in a log."""
RATE_OVER_S = 15.0


def tail(target: CampaignTarget, rate: float | None) -> str:
    """The text after a target's bar: how many cases do not pass, how many jobs finish per second, and the time left."""
    counters = target.counters
    parts = [f"{counters.failed:,} failing"]
    if counters.incomplete:
        parts.append(f"{counters.incomplete:,} incomplete")
    if counters.settled < counters.total:
        if rate is not None:
            parts.append(f"{rate:.1f}/s")
        parts.append("no runner serves it now" if target.waits else _time_left(target.estimate))
    return ", ".join(parts)


def _time_left(estimate: TimeEstimate) -> str:
    return "time left unknown" if estimate.seconds is None else f"{estimate.words} left"


class Board:
    """``with Board() as board: board.show([…])``: shows the latest state of campaign targets, and plain lines."""

    def __init__(
        self,
        stream: IO[str] | None = None,
        clock: Callable[[], float] = time.monotonic,
        plain_every_s: float = PLAIN_EVERY_S,
    ) -> None:
        self._console = console(stream or sys.stderr)
        self._clock = clock
        self._plain_every_s = plain_every_s
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

    def show(self, rows: Sequence[CampaignTarget | str]) -> None:
        lines = [row for row in rows if isinstance(row, str)]
        self._bars.show([row for row in rows if not isinstance(row, str)])
        if self._live is not None:
            self._live.update(Group(*map(Text, lines), self._bars.get_renderable()))
            return
        self._latest = [*lines, *self._bars.lines()]
        if self._clock() - self._printed_at >= self._plain_every_s:
            self._print_changes()

    def say(self, line: str) -> None:
        """Print a permanent line above the bars."""
        self._console.print(Text(line))

    def _print_changes(self) -> None:
        new = [line for line in self._latest if line not in self._printed]
        if new:
            for line in new:
                self._console.print(Text(line))
            self._printed, self._printed_at = self._latest, self._clock()


class BarsOfTargets(Progress):
    """A bar for each target with its text below the bar, because many terminals are too narrow for both side by
    side."""

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

    def show(self, targets: Sequence[CampaignTarget]) -> None:
        """Show these targets instead of the previous ones. Two targets with the same name can have different
        environments."""
        width = max((len(target.target) for target in targets), default=0)
        target_by_key = {(target.target, target.environment): target for target in targets}
        for stale_key in self._ids.keys() - target_by_key.keys():
            self.remove_task(self._ids.pop(stale_key))
        for key, target in target_by_key.items():
            completed_jobs, total = target.counters.settled, target.counters.total
            if key not in self._ids:
                # Jobs that were done before this start do not count for the rate.
                self._ids[key] = self.add_task("", completed=completed_jobs, total=total)
            label = target.target.ljust(width)
            self.update(self._ids[key], description=label, completed=completed_jobs, total=total, target=target)

    def lines(self) -> list[str]:
        """Return the bars as plain text."""
        return [
            f"{target.target}: {task.completed:,}/{task.total:,} done, {tail(target, task.speed)}"
            for task, target in self._tasks_with_targets()
        ]

    def get_renderables(self) -> Iterable[RenderableType]:
        for task, target in self._tasks_with_targets():
            yield self.make_tasks_table([task])
            yield Text(f"  {tail(target, task.speed)}", style="red" if target.counters.failed else "")

    def _tasks_with_targets(self) -> list[tuple[Task, CampaignTarget]]:
        return [(task, task.fields["target"]) for task in self.tasks]
