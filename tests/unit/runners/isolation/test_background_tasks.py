"""Background tasks report that they failed, and can be waited for or cancelled."""

from __future__ import annotations

import asyncio

from runners.isolation.background_tasks import BackgroundTasks


async def fail() -> None:
    raise ValueError("as planned")


async def test_a_task_that_fails_breaks_the_service_and_is_reported() -> None:
    reports: list[str] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, report: reports.append(str(report["exception"])))
    broken = asyncio.Event()
    tasks = BackgroundTasks(broken)
    tasks.begin(asyncio.sleep(0))
    await tasks.wait()
    assert not broken.is_set()
    tasks.begin(fail())
    await asyncio.wait_for(broken.wait(), 1)
    assert reports == ["as planned"]


async def test_tasks_that_are_cancelled_are_gone_and_break_nothing() -> None:
    broken = asyncio.Event()
    tasks = BackgroundTasks(broken)
    tasks.begin(asyncio.sleep(30))
    await asyncio.wait_for(tasks.cancel(), 1)
    assert not broken.is_set()
