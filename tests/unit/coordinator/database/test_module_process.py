"""A module in a separate process: its pipes are read immediately, and the end of its stderr explains a failure."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from coordinator.database.module_process import COMPLAINT_BYTES, DATABASE_AWAY_CODE, run_module
from coordinator.errors import DatabaseAwayError, PortolanError
from tests.waiting import until

TIMEOUT_S = 60.0
MANY_WORDS = "import sys; sys.stderr.write('a warning\\n' * 100_000); sys.stderr.flush()"
"""A megabyte, which is more than a pipe can hold."""

ModuleMaker = Callable[[str], str]


@pytest.fixture
def module_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleMaker:
    """Makes a module from source that a separate process can import. Returns its name."""
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))

    def make(source: str) -> str:
        (tmp_path / "work_of_a_test.py").write_text(source)
        return "work_of_a_test"

    return make


async def answer(module: str, request: bytes = b"") -> bytes:
    async with asyncio.timeout(TIMEOUT_S):
        return await run_module(module, "postgresql:///none", "it could not be done", request=request)


async def test_a_module_that_complains_at_length_before_it_answers_is_read_to_its_end(module_of: ModuleMaker) -> None:
    module = module_of(f"{MANY_WORDS}; print(sys.stdin.read() * 2, end='')")
    assert await answer(module, b"answer" * 100_000) == b"answer" * 200_000


async def test_the_last_line_of_a_long_complaint_is_the_reason(module_of: ModuleMaker) -> None:
    module = module_of(f"{MANY_WORDS}; sys.exit('the disk is full')")
    with pytest.raises(PortolanError, match=r"^it could not be done: the disk is full$"):
        await answer(module, b"a request that nobody reads" * COMPLAINT_BYTES)


async def test_a_database_that_went_away_stays_an_outage(module_of: ModuleMaker) -> None:
    module = module_of(f"import sys; print('no route', file=sys.stderr); sys.exit({DATABASE_AWAY_CODE})")
    with pytest.raises(DatabaseAwayError, match="no route"):
        await answer(module)


async def test_a_module_that_nobody_waits_for_any_more_is_killed_with_what_it_wrote_unread(
    module_of: ModuleMaker, tmp_path: Path
) -> None:
    mark = tmp_path / "more than a pipe and the buffer of a reader hold was written"
    module = module_of(f"import os; os.write(1, bytes(1 << 18)); open({str(mark)!r}, 'w'); os.write(1, bytes(1 << 20))")

    async def read_nothing(_stdout: asyncio.StreamReader) -> bytes:
        await asyncio.to_thread(until, mark.exists, "it wrote much")
        raise PortolanError("nobody reads it")

    async with asyncio.timeout(TIMEOUT_S):
        with pytest.raises(ExceptionGroup) as excinfo:
            await run_module(module, "postgresql:///none", "it could not be done", read=read_nothing)
    assert excinfo.group_contains(PortolanError, match="nobody reads it")
