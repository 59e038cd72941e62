"""Ctrl-C while a demo times what runs: the timing ends, and the chart is shown as at the end."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.coordinator_process import CoordinatorProcess
from tests.faults.registration.listing_runner import ListingRunner, cases
from tests.portolan_process import Portolan, Up


class UntimedRunner(ListingRunner):
    """Its cases pass in run 1, and never end in another."""

    def take(self, batch: dict[str, Any]) -> dict[str, Any]:
        super().take({"jobs": [job for job in batch["jobs"] if job["run"] == 1]})
        return {"jobs": [{"id": job["id"], "attempt": job["attempt"], "status": "queued"} for job in batch["jobs"]]}


@pytest.fixture
def demo(coordinator: CoordinatorProcess, tmp_path: Path) -> Iterator[Up]:
    runner = UntimedRunner(cases("bay.shore", "bay.reef"), "bay")
    assert coordinator.register(runner.url, "").status_code == 201
    demo = Portolan(tmp_path, PORTOLAN_URL=coordinator.url).demo("--url", coordinator.url, "--all")
    yield demo
    demo.stop(signal.SIGKILL)
    runner.stop()


def test_the_timing_ends_and_the_chart_is_shown(demo: Up, coordinator: CoordinatorProcess) -> None:
    demo.wait_says("bay@1/cpu: 2 of 2 functions pass every case")
    assert demo.stop(signal.SIGINT) == 0, demo.said
    after = demo.said.partition("no more is timed; the chart has all verdicts, and the times so far")[2]
    assert "2 of 2 functions pass every case" in after
    assert "bay.reef" in after
    (campaign,) = coordinator.http.get("/campaigns").json()["campaigns"]
    assert campaign["state"] == "cancelled"
