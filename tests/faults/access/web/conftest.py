"""Fixtures: one coordinator for the attacks of this folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests import bundles
from tests.browser.conftest import browser_path as browser_path
from tests.browser.conftest import signed_in
from tests.coordinator_process import CoordinatorProcess
from tests.faults.access.web.attacked_coordinator import NAMED, AttackedCoordinator
from tests.faults.registration.listing_runner import ListingRunner, cases


class BusyRunner(ListingRunner):
    """A runner that begins every job and ends none, and reports them as running. Without these reports the jobs would
    be lost, and the campaign would end."""

    def take(self, batch: dict[str, Any]) -> dict[str, Any]:
        with self._changed:
            for job in batch["jobs"]:
                start_event = {"type": "started", "n": len(self.events) + 1, "id": job["id"], "attempt": job["attempt"]}
                self.events.append(start_event)
            self._changed.notify_all()
        return {"jobs": [{"id": job["id"], "attempt": job["attempt"], "status": "queued"} for job in batch["jobs"]]}

    def next_events(self, boot_id: str, after: int) -> list[dict[str, Any]] | None:
        lines = super().next_events(boot_id, after)
        running = [{"id": event["id"], "attempt": event["attempt"], "elapsed_s": 0.0} for event in self.events[:after]]
        for line in lines or ():
            if line["type"] == "heartbeat":
                line["running"] = running
        return lines


def forge_bundle(runner: ListingRunner) -> bytes:
    """Make a bundle without running anything."""
    suite = runner.catalogue["suites"][0]
    now = "2026-01-01T00:00:00Z"
    header = {
        "type": "portolan-bundle",
        "format": 1,
        "portolan": "1",
        "begun_at": now,
        "runner": runner.info,
        "suite": suite,
        "functions": ["*"],
        "runs": 1,
    }
    outcome = {"verdict": "passed", "ending": "returned", "placement": "on_device", "duration_s": 0.0}
    case = suite["cases"][0]["id"]
    return bundles.sealed([header, {"type": "outcome", "case": case, "run": 1, "finished_at": now, "outcome": outcome}])


@pytest.fixture(scope="session")
def site(new_database: Callable[..., str]) -> Iterator[AttackedCoordinator]:
    coordinator = CoordinatorProcess(new_database(), PORTOLAN_HOSTS=NAMED)
    runner = BusyRunner(cases("listed.one"), "listed")
    try:
        runner_id = coordinator.register(runner.url, "").json()["id"]
        campaign = coordinator.submit("*", suite="paper", targets=["listed/cpu"], timeout_s=3600)
        yield AttackedCoordinator(coordinator, campaign, runner_id, forge_bundle(runner), signed_in(coordinator.url))
    finally:
        coordinator.stop()
        runner.stop()
