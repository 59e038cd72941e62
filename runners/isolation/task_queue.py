"""The queue of a supervisor's tasks, and the rule that decides which tasks a slot takes next.

Tasks leave the queue in the order of arrival. A slot takes a *stretch* at a time: the next tasks of one group, which
can share a process.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator

from runners.isolation.attempts import Task


class TaskQueue:
    """A first-in, first-out queue from which stretches are taken."""

    def __init__(self) -> None:
        self._tasks: deque[Task] = deque()

    def __len__(self) -> int:
        return len(self._tasks)

    def __iter__(self) -> Iterator[Task]:
        return iter(self._tasks)

    def extend(self, tasks: Iterable[Task]) -> None:
        self._tasks.extend(tasks)

    def remove(self, task: Task) -> None:
        """Remove a task. Raises ``ValueError`` if it is not in the queue."""
        self._tasks.remove(task)

    @property
    def first(self) -> Task | None:
        return self._tasks[0] if self._tasks else None

    def take(self, *, takes_timed: bool) -> deque[Task]:
        """Take the next stretch. Empty if the queue is empty, or if its first task is timed and ``takes_timed`` false.

        Timed tasks run alone, so only one slot takes them.
        """
        stretch: deque[Task] = deque()
        first = self.first
        if first is None or not (takes_timed or first.is_untimed):
            return stretch
        group, is_untimed = first.group, first.is_untimed
        while self._tasks and self._tasks[0].group == group and self._tasks[0].is_untimed == is_untimed:
            stretch.append(self._tasks.popleft())
        return stretch
