"""The queue of a supervisor's tasks, and the rule for which tasks a slot takes next.

Tasks leave the queue in the order of arrival. A slot takes a *stretch* at once: the next tasks of the same group, which
can share a process.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator

from runners.isolation.attempts import Task


class TaskQueue:
    """First in, first out, by stretches."""

    def __init__(self) -> None:
        self._tasks: deque[Task] = deque()

    def __len__(self) -> int:
        return len(self._tasks)

    def __iter__(self) -> Iterator[Task]:
        return iter(self._tasks)

    def extend(self, tasks: Iterable[Task]) -> None:
        self._tasks.extend(tasks)

    def remove(self, task: Task) -> None:
        """Raises ``ValueError`` if it is not here."""
        self._tasks.remove(task)

    @property
    def first(self) -> Task | None:
        return self._tasks[0] if self._tasks else None

    def take(self, *, takes_timed: bool) -> deque[Task]:
        """The next stretch; empty if there is none, or if it is timed and ``takes_timed`` is false.

        Timed tasks run alone, so one slot takes all of them.
        """
        stretch: deque[Task] = deque()
        first = self.first
        if first is None or not (takes_timed or first.is_untimed):
            return stretch
        group, is_untimed = first.group, first.is_untimed
        while self._tasks and self._tasks[0].group == group and self._tasks[0].is_untimed == is_untimed:
            stretch.append(self._tasks.popleft())
        return stretch
