"""A case whose repeated calls crash their process is told from the cases beside it."""

from __future__ import annotations

import ctypes
import faulthandler
import os
from collections.abc import Iterator, Sequence
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from freezing.common.corruption import find_corrupting, survives
from runners.suite.cases import Case


@pytest.fixture
def quiet_crash() -> Iterator[None]:
    """A forked process that crashes does not write pytest's stack trace."""
    faulthandler.disable()
    yield
    faulthandler.enable()


@given(st.lists(st.booleans(), max_size=40))
def test_the_cases_that_crash_are_found_in_their_order(crashes: list[bool]) -> None:
    cases = list(enumerate(crashes))
    corrupting = find_corrupting(cast(Sequence[Case], cases), lambda part: not any(crash for _, crash in part))
    assert cast(Any, corrupting) == [case for case in cases if case[1]]


def test_a_group_without_a_crash_runs_in_one_process() -> None:
    groups: list[int] = []

    def survives_all(cases: Sequence[Case]) -> bool:
        groups.append(len(cases))
        return True

    assert find_corrupting(cast(Sequence[Case], range(100)), survives_all) == []
    assert groups == [100]


@pytest.mark.usefixtures("quiet_crash")
def test_a_crash_of_the_process_is_noticed() -> None:
    assert not survives(os.abort)
    assert not survives(lambda: ctypes.string_at(0))


@pytest.mark.usefixtures("quiet_crash")
def test_memory_that_was_damaged_is_noticed_at_a_later_call() -> None:
    library = ctypes.CDLL(None)
    library.malloc.restype, library.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
    library.free.argtypes = [ctypes.c_void_p]

    def write_outside() -> None:
        for _ in range(30):
            blocks = [library.malloc(2000) for _ in range(3)]
            ctypes.memset(blocks[0], 0xFF, 2100)
            for block in blocks:
                library.free(block)

    assert not survives(write_outside)


def test_an_error_or_an_exit_is_no_crash() -> None:
    def fail() -> None:
        raise ValueError("refused")

    assert survives(fail)
    assert survives(lambda: os._exit(3))
    assert survives(lambda: None)
