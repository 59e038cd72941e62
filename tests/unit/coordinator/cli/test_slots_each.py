"""Each runner of a machine gets as many slots as there are cores and memory for it, and at least one."""

from __future__ import annotations

import pytest

from coordinator.cli.local import MOST_SLOTS, SLOT_BYTES, slots_each

PLENTY = 1 << 50


@pytest.mark.parametrize(
    ("runners", "cores", "free_bytes", "slots"),
    [
        (1, 1, PLENTY, 1),
        (1, 2, PLENTY, 2),
        (5, 2, PLENTY, 1),
        (5, 16, PLENTY, 3),
        (1, 64, PLENTY, MOST_SLOTS),
        (1, 8, 2 * SLOT_BYTES, 2),
        (2, 8, 2 * SLOT_BYTES, 1),
        (1, 8, 0, 1),
    ],
)
def test_a_core_and_memory_for_every_slot(runners: int, cores: int, free_bytes: int, slots: int) -> None:
    assert slots_each(runners, cores, free_bytes) == slots
