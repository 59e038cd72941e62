"""Untimed cases keep company, and whoever has to be alone is, however they come and go."""

from __future__ import annotations

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from runners.isolation.company import Company


def never() -> bool:
    return False


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 3)), max_size=30))
async def test_nobody_is_at_work_beside_one_that_is_alone(visits: list[tuple[bool, int]]) -> None:
    company, together, alone, most_alone = Company(2), 0, 0, 0

    async def visit(by_itself: bool, turns: int) -> None:
        nonlocal together, alone, most_alone
        if by_itself:
            async with company.alone(never):
                alone += 1
                for _ in range(turns + 1):
                    assert (alone, together) == (1, 0)
                    await asyncio.sleep(0)
                alone -= 1
            return
        assert await company.join(never)
        together += 1
        for _ in range(turns + 1):
            assert alone == 0
            await asyncio.sleep(0)
        together -= 1
        company.part()

    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        for by_itself, turns in visits:
            group.create_task(visit(by_itself, turns))
    assert not company.is_asked_for_silence


async def test_who_waits_to_be_alone_is_let_in_before_others_begin() -> None:
    company, order = Company(2), []
    assert await company.join(never)

    async def alone() -> None:
        async with company.alone(never):
            order.append("alone")

    async def join() -> None:
        await company.join(never)
        order.append("joined")

    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        group.create_task(alone())
        await asyncio.sleep(0)
        assert company.is_asked_for_silence
        group.create_task(join())
        await asyncio.sleep(0)
        assert order == []
        company.part()
    assert order == ["alone", "joined"]


async def test_who_is_stopped_waits_no_longer_and_holds_up_nobody() -> None:
    company, is_stopped = Company(2), False
    assert await company.join(never)

    async def alone() -> None:
        async with company.alone(lambda: is_stopped):
            pass

    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        waiting = group.create_task(alone())
        await asyncio.sleep(0)
        is_stopped = True
        company.look_again()
        await waiting
        assert await company.join(never)
