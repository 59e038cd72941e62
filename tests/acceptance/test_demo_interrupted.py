"""A demo that uses an existing coordinator is interrupted, or finds no coordinator at the URL."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from coordinator.cli import INTERRUPTED
from coordinator.cli.outage_watch import GIVE_UP_S
from tests.coordinator_process import CoordinatorProcess
from tests.faults.registration.listing_runner import ListingRunner, cases
from tests.portolan_process import Portolan, Up
from tests.slow_answer import SlowAnswer
from tests.waiting import until

NOBODY = "http://127.0.0.1:9"


class UntimedRunner(ListingRunner):
    """A runner whose cases pass in run 1 and never end in any other run."""

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
    after = demo.said.partition("the timing has ended; the chart has all verdicts, and the times measured so far")[2]
    assert "2 of 2 functions pass every case" in after
    assert "bay.reef" in after
    (campaign,) = coordinator.http.get("/campaigns").json()["campaigns"]
    assert campaign["state"] == "cancelled"


def test_a_demo_that_waits_for_a_runner_says_that_no_campaign_was_submitted(
    coordinator: CoordinatorProcess, tmp_path: Path
) -> None:
    before = coordinator.http.get("/campaigns").json()["campaigns"]
    demo = Portolan(tmp_path, PORTOLAN_URL=coordinator.url).demo("--url", coordinator.url, "--targets", "reef/cpu")
    demo.wait_says("waiting for the runners of reef/cpu")
    assert demo.stop(signal.SIGINT) == INTERRUPTED, demo.said
    assert "interrupted; no campaign was submitted" in demo.said
    assert coordinator.http.get("/campaigns").json()["campaigns"] == before


@pytest.mark.usefixtures("demo")
def test_a_demo_that_is_interrupted_during_its_submission_says_that_a_campaign_may_be_stored(
    coordinator: CoordinatorProcess, tmp_path: Path
) -> None:
    slow = SlowAnswer(coordinator.url)
    demo = Portolan(tmp_path, PORTOLAN_URL=slow.url).demo("--url", slow.url, "--targets", "bay/cpu")
    until(slow.answer_waits.is_set, "the answer to the submission")
    assert demo.stop(signal.SIGINT) == INTERRUPTED, demo.said
    slow.close()
    assert f"if it stored the campaign, `portolan status --url {slow.url}` lists it; the next demo" in demo.said
    newest = coordinator.http.get("/campaigns").json()["campaigns"][0]
    assert (newest["name"], newest["state"]) == ("demo", "running")


def test_a_coordinator_that_is_not_there_is_not_waited_for(tmp_path: Path) -> None:
    began = time.monotonic()
    message = Portolan(tmp_path).refused("demo", "--url", NOBODY)
    assert f"no coordinator answers at {NOBODY}" in message
    assert time.monotonic() - began < GIVE_UP_S / 10
