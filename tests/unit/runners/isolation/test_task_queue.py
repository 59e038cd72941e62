"""Tasks leave the queue in the order in which they came, in stretches that may share a process."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from protocol.enums import TimingPolicy
from protocol.jobs import Job
from runners.isolation.attempts import Task
from runners.isolation.task_queue import TaskQueue

KINDS = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from([TimingPolicy.off, TimingPolicy.steady])))


def tasks_of(kinds: list[tuple[str, TimingPolicy]]) -> list[Task]:
    return [
        Task(Job(id=f"{number}", attempt=1, case=function, run=1, timeout_s=1.0, timing=timing), "suite", function)
        for number, (function, timing) in enumerate(kinds)
    ]


@given(KINDS)
def test_nothing_is_lost_and_nothing_overtakes(kinds: list[tuple[str, TimingPolicy]]) -> None:
    queue, tasks, taken_tasks = TaskQueue(), tasks_of(kinds), []
    queue.extend(tasks)
    while stretch := queue.take(takes_timed=True):
        assert len({(task.group, task.is_untimed) for task in stretch}) == 1
        taken_tasks.extend(stretch)
    assert taken_tasks == tasks
    assert len(queue) == 0


@given(KINDS)
def test_who_takes_no_timed_task_takes_nothing_past_one(kinds: list[tuple[str, TimingPolicy]]) -> None:
    queue, tasks, taken_tasks = TaskQueue(), tasks_of(kinds), []
    queue.extend(tasks)
    while stretch := queue.take(takes_timed=False):
        taken_tasks.extend(stretch)
    assert all(task.is_untimed for task in taken_tasks)
    assert queue.first is None or not queue.first.is_untimed
    assert [*taken_tasks, *queue] == tasks
