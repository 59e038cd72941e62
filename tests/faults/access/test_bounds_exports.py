"""All exports share one pool, so sixty simultaneous exports take little memory, and dispatch continues."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import psutil
import pytest

from tests.admin import AS_ADMIN
from tests.coordinator_process import CoordinatorProcess
from tests.event_loop import EventLoop
from tests.scripted_runner import Case, ScriptedRunner
from tests.waiting import until

AT_ONCE = 60
LIMITS = "exports=2, exports_waiting=8"
ROOM_MB = 900
"""The limit for the coordinator and the two workers that may run at a time. One export alone takes 150 MB."""
PATIENCE_S = 300.0


class MemoryWatch:
    """Measures the highest total memory of a process and its descendants."""

    def __init__(self, pid: int) -> None:
        self.peak_mb = 0.0
        self._process = psutil.Process(pid)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> MemoryWatch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._over.wait(0.1):
            total = 0
            for process in [self._process, *self._process.children(recursive=True)]:
                try:
                    total += process.memory_info().rss
                except psutil.Error:
                    continue
            self.peak_mb = max(self.peak_mb, total / 1e6)


@pytest.fixture
def runner() -> Iterator[ScriptedRunner]:
    events = EventLoop()
    quick = [Case(f"scripted.quick{number}/0", f"scripted.quick{number}") for number in range(20)]
    slow = [Case(f"scripted.slow{number}/0", f"scripted.slow{number}", takes_s=0.2) for number in range(20)]
    runner = ScriptedRunner("scripted", "scripted", [*quick, *slow], run=events.run, heartbeat_s=0.3)
    runner.start()
    yield runner
    runner.stop()
    events.close()


@pytest.fixture
def coordinator(database: str) -> Iterator[CoordinatorProcess]:
    coordinator = CoordinatorProcess(database, PORTOLAN_LIMITS=LIMITS)
    yield coordinator
    coordinator.stop()


@pytest.mark.drawn(2)
@pytest.mark.parametrize("format", ["parquet", "csv"])
def test_sixty_exports_at_once(coordinator: CoordinatorProcess, runner: ScriptedRunner, format: str) -> None:
    assert coordinator.register(runner.url, runner.secret).status_code == 201
    quick = coordinator.submit("scripted.quick*", suite="scripted", runs=20)
    assert coordinator.wait_ended(quick)["counters"]["done"] == 400
    # Enough to be running still when the exports are over.
    running = coordinator.submit("scripted.slow*", suite="scripted", runs=100)
    coordinator.wait_done(running, 1)

    def export(_: int) -> httpx.Response:
        address = f"{coordinator.url}/api/v1/campaigns/{quick}/outcomes"
        return httpx.get(address, params={"format": format}, headers=AS_ADMIN, timeout=PATIENCE_S)

    began = time.monotonic()
    with MemoryWatch(coordinator.process.pid) as memory, ThreadPoolExecutor(AT_ONCE) as clients:
        answers = list(clients.map(export, range(AT_ONCE)))
    figures = f"{memory.peak_mb:.0f} MB, {time.monotonic() - began:.1f} s"
    assert memory.peak_mb < ROOM_MB, figures
    whole = [answer for answer in answers if answer.status_code == 200]
    refusals = [answer for answer in answers if answer.status_code != 200]
    assert len({answer.content for answer in whole}) == 1
    assert len(whole) >= 2
    for answer in refusals:
        assert answer.status_code == 429, answer.text
        assert int(answer.headers["Retry-After"]) >= 1
        assert "exports" in answer.json()["detail"]
    assert refusals, "the pool has no end"
    assert [(r["state"], r["reason"]) for r in coordinator.http.get("/runners").json()["runners"]] == [("online", None)]
    coordinator.wait_done(running, coordinator.campaign(running)["counters"]["done"] + 5)
    # Once they are over there is room again.
    assert export(0).status_code == 200


def test_files_of_exports_do_not_stay(coordinator: CoordinatorProcess, runner: ScriptedRunner) -> None:
    assert coordinator.register(runner.url, runner.secret).status_code == 201
    campaign = coordinator.submit("scripted.quick*", suite="scripted", runs=1)
    coordinator.wait_ended(campaign)

    def files() -> set[str]:
        """The deleted files that the process still has open."""
        open_files = [
            os.readlink(link) for link in Path(f"/proc/{coordinator.process.pid}/fd").iterdir() if link.is_symlink()
        ]
        return {
            file for file in open_files if file.startswith(f"{tempfile.gettempdir()}/") and file.endswith(" (deleted)")
        }

    before = files()

    for format in ("csv", "parquet"):
        address = f"{coordinator.url}/api/v1/campaigns/{campaign}/outcomes"
        with httpx.stream("GET", address, params={"format": format}, headers=AS_ADMIN, timeout=PATIENCE_S) as answer:
            assert answer.status_code == 200
        until(lambda: files() == before, "no file of an export is open")


def test_nothing_is_left_of_an_export_whose_coordinator_is_killed(tmp_path: Path) -> None:
    program = (
        "import os, signal; from coordinator.results.outcomes.service import ExportFile; file = ExportFile(); "
        "file.path.write_text('half of it'); os.kill(os.getpid(), signal.SIGKILL)"
    )
    process = subprocess.run([sys.executable, "-c", program], env=os.environ | {"TMPDIR": str(tmp_path)}, check=False)
    assert process.returncode == -9
    assert list(tmp_path.iterdir()) == []
