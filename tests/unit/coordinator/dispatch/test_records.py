"""Rows of reported outcomes are equal whether they are made in another thread or on the event loop."""

from __future__ import annotations

import asyncio

import pytest

from coordinator.dispatch.records import QUICK_CHARACTERS, record, record_off_loop
from coordinator.dispatch.runner_state_machine import Key
from protocol.enums import Ending, Verdict
from protocol.outcomes import Evidence, Outcome

TARGET = {"framework": "torch", "device": "cpu"}


def outcome(ending: Ending, message: str) -> Outcome:
    return Outcome(verdict=Verdict.failed, ending=ending, duration_s=1, evidence=Evidence(message=message))


@pytest.mark.parametrize(
    ("runner_outcome", "is_quick"),
    [
        (outcome(Ending.raised, "x" * QUICK_CHARACTERS), True),
        (outcome(Ending.returned, "x" * 10 * QUICK_CHARACTERS), True),
        (outcome(Ending.raised, "out of memory" + "x" * QUICK_CHARACTERS), False),
    ],
)
async def test_only_long_evidence_gives_up_control(runner_outcome: Outcome, is_quick: bool) -> None:
    others_ran = asyncio.Event()
    asyncio.get_running_loop().call_soon(others_ran.set)
    row = await record_off_loop(Key(1, 1), runner_outcome, **TARGET)
    assert row == record(Key(1, 1), runner_outcome, **TARGET)
    assert others_ran.is_set() is not is_quick
