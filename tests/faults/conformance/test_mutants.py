"""The conformance check detects the fault of each mutant of a correct runner.

Several mutants run at the same time, each in its own process, because they mostly wait.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from coordinator.conformance import ConformanceReport, Level, Result, check
from coordinator.conformance.contract import CLAUSES
from coordinator.conformance.times import CheckTimes
from tests.faults.conformance.mutants import MUTANTS, Mutant, make_copy
from tests.levels import drawn
from tests.runner_process import environment

SECRET = "The-Secret-of-the-Mutants"
SAMPLE = drawn(MUTANTS, 5, "mutants of the example runner")
AT_ONCE = 8
TIMES = CheckTimes(outcome_s=20.0)
"""The seconds until an outcome of the example arrives: one on an idle machine, several on a busy machine."""


class NodeProcess:
    """A runner that can be restarted on the same port."""

    def __init__(self, main: Path, lock: Path) -> None:
        self._command = ["node", str(main)]
        self._port = "0"
        """The port. At first it is 0, so that the runner itself takes a free port. A port that the test chooses could
        be taken by another process."""
        self._environment = environment(PORTOLAN_RUNNER_SECRET=SECRET, PORTOLAN_TIMING_LOCK=str(lock))
        self._process: asyncio.subprocess.Process | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    async def start(self) -> None:
        self._process = await asyncio.create_subprocess_exec(
            *self._command, "--port", self._port, env=self._environment, stdout=asyncio.subprocess.PIPE
        )
        assert self._process.stdout is not None
        ready = await self._process.stdout.readline()
        assert ready, "it says where it listens"
        self._port = json.loads(ready)["url"].rpartition(":")[2]

    async def stop(self) -> None:
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()

    async def restart(self) -> None:
        await self.stop()
        await self.start()


@contextlib.asynccontextmanager
async def _serve(mutant: Mutant | None, folder: Path) -> AsyncIterator[NodeProcess]:
    runner = NodeProcess(make_copy(mutant, folder / "runner"), folder / "lock")
    try:
        await runner.start()
        yield runner
    finally:
        await runner.stop()


async def _check_mutant(mutant: Mutant | None, folder: Path, room: asyncio.Semaphore) -> ConformanceReport:
    async with room, _serve(mutant, folder) as runner:
        return await check(
            runner.url,
            SECRET,
            level=Level.full if mutant is None else mutant.level,
            restart=runner.restart,
            only=None if mutant is None else mutant.found_by | mutant.beside,
            times=TIMES,
        )


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str | None, ConformanceReport]:
    if shutil.which("node") is None:
        if os.environ.get("PORTOLAN_REQUIRE_NODE") == "1":
            pytest.fail("PORTOLAN_REQUIRE_NODE=1 is set, and there is no command node: install Node.js 20 or later")
        pytest.skip("there is no command node; the mutants are not tested")

    async def all_of_them() -> list[ConformanceReport]:
        room = asyncio.Semaphore(AT_ONCE)
        async with asyncio.TaskGroup() as group:
            checks = [
                group.create_task(_check_mutant(mutant, tmp_path_factory.mktemp("mutant"), room))
                for mutant in (None, *SAMPLE)
            ]
        return [checking.result() for checking in checks]

    names = [None, *(mutant.name for mutant in SAMPLE)]
    return dict(zip(names, asyncio.run(all_of_them()), strict=True))


def test_the_runner_that_is_right_passes_every_check(reports: dict[str | None, ConformanceReport]) -> None:
    report = reports[None]
    assert {finding.id: finding.detail for finding in report.findings if finding.result is not Result.passed} == {}
    assert [finding.id for finding in report.findings] == [clause.id for clause in CLAUSES]


@pytest.mark.parametrize("mutant", SAMPLE, ids=lambda mutant: mutant.name)
def test_a_mutant_is_found_by_every_clause_that_it_breaks(
    reports: dict[str | None, ConformanceReport], mutant: Mutant
) -> None:
    findings = {finding.id: finding for finding in reports[mutant.name].findings}
    results = {id: (finding.result.value, finding.detail) for id, finding in findings.items()}
    assert all(findings[id].result is Result.failed and findings[id].detail for id in mutant.found_by), results


def test_there_are_enough_of_them_and_each_has_a_name_of_its_own() -> None:
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS) >= 40
