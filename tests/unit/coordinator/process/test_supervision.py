"""Permanent tasks are restarted, and their failures are visible. A task is ended even if it loses a cancellation."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from prometheus_client import generate_latest
from structlog.testing import capture_logs

from coordinator.configuration.times import Times
from coordinator.errors import DatabaseAwayError
from coordinator.process import metrics
from coordinator.process.supervision import TaskSupervisor, end

AT_ONCE = Times(restart_s=0.001)


async def test_what_ends_is_logged_counted_and_started_again() -> None:
    supervisor, starts, runs = TaskSupervisor(AT_ONCE), 0, asyncio.Event()

    async def work() -> None:
        nonlocal starts
        starts += 1
        if starts == 1:
            raise ValueError("a fault of ours")
        if starts == 2:
            return
        if starts == 3:
            raise DatabaseAwayError("nobody is there")
        if starts == 4:
            raise asyncio.CancelledError
        runs.set()
        await asyncio.Event().wait()

    with capture_logs() as lines:
        task = supervisor.start("a task of the tests", work)
        async with asyncio.timeout(60):
            await runs.wait()
    (down,) = supervisor.down()
    assert (down.task, down.reason) == ("a task of the tests", "it ended: CancelledError")
    assert {line["task"] for line in lines} == {"a task of the tests"}
    assert [(line["log_level"], line["event"]) for line in lines] == [
        ("error", "a task ended"),
        ("error", "a task ended"),
        ("warning", "a task ended because the database is away"),
        ("error", "a task ended"),
    ]
    assert b'portolan_task_restarts_total{task="a task of the tests"} 4.0' in generate_latest(metrics.REGISTRY)
    assert not await end(task)
    assert task.cancelled()


async def test_it_is_up_when_it_has_run_for_a_while() -> None:
    supervisor, starts, runs = TaskSupervisor(replace(AT_ONCE, settled_s=0.0)), 0, asyncio.Event()

    async def work() -> None:
        nonlocal starts
        starts += 1
        if starts == 1:
            raise ValueError
        runs.set()
        await asyncio.Event().wait()

    task = supervisor.start("task", work)
    async with asyncio.timeout(60):
        await runs.wait()
    assert supervisor.down() == []
    await end(task)


async def test_who_gives_no_sign_of_life_in_time_is_down() -> None:
    supervisor = TaskSupervisor()
    pulse = supervisor.pulse("loop")
    pulse.due_within(60)
    assert supervisor.down() == []
    pulse.due_within(-1)
    (down,) = supervisor.down()
    assert (down.task, down.reason) == ("loop", "it has given no sign of life since then")
    pulse.rest()
    assert supervisor.down() == []


async def test_of_a_kind_only_what_is_to_run_can_be_down() -> None:
    supervisor = TaskSupervisor()
    for name in ("link 1", "link 2"):
        supervisor.began(name, "link")
        supervisor.note_end(name, ValueError("broken"))
    supervisor.retain("link", {"link 2"})
    assert [down.task for down in supervisor.down()] == ["link 2"]


async def test_a_task_that_loses_a_cancellation_is_ended_all_the_same() -> None:
    cancellations = 0

    async def work() -> None:
        nonlocal cancellations
        while cancellations < 2:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                cancellations += 1
        await asyncio.Event().wait()

    task = asyncio.create_task(work())
    await asyncio.sleep(0)
    assert not await end(task, again_s=0.01)
    assert (cancellations, task.cancelled()) == (2, True)


async def test_a_task_that_does_not_end_is_waited_for_no_longer() -> None:
    let_go = False

    async def work() -> None:
        while not let_go:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                continue

    task = asyncio.create_task(work())
    await asyncio.sleep(0)
    assert await end(task, within_s=0.05) == {task}
    let_go = True
    assert not await end(task, again_s=0.01)
