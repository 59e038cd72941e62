"""Memory that was freed between blocks in use is returned to the system."""

from __future__ import annotations

import ctypes

import psutil
import pytest

from coordinator.operating_system.free_memory import return_free_memory

BLOCKS, BLOCK_BYTES, KEPT_SHARE = 40_000, 1_000, 100


def resident_bytes() -> int:
    resident: int = psutil.Process().memory_info().rss
    return resident


def test_freed_blocks_between_others_are_returned() -> None:
    blocks = [bytes(BLOCK_BYTES) for _ in range(BLOCKS)]
    kept_blocks = blocks[::KEPT_SHARE]
    del blocks
    before = resident_bytes()
    return_free_memory()
    assert before - resident_bytes() > BLOCKS * BLOCK_BYTES / 2
    assert len(kept_blocks) == BLOCKS / KEPT_SHARE


def test_a_c_library_without_the_function_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda _: object())
    return_free_memory()
