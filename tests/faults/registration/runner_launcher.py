"""A framework for one test on a coordinator: its runners, their cases, and its campaigns."""

from __future__ import annotations

from typing import Any

import httpx

from protocol.enrolment_tokens import EnrolmentToken
from tests.coordinator_process import CoordinatorProcess
from tests.faults.registration.listing_runner import Case, ListingRunner

ENROLMENT_KEY = "the-key-of-today-which-nobody-guesses"


class RunnerLauncher:
    def __init__(self, coordinator: CoordinatorProcess, framework: str) -> None:
        self.coordinator = coordinator
        self.framework = framework
        self._started: list[ListingRunner] = []

    def start(self, case_rows: list[Case], **options: str) -> ListingRunner:
        """Start a runner that serves these cases, without registering it."""
        runner = ListingRunner(case_rows, self.framework, **options)
        self._started.append(runner)
        return runner

    def close(self) -> None:
        """Remove and stop the runners."""
        for runner in self.runner_rows():
            assert self.coordinator.http.delete(f"/runners/{runner['id']}").status_code == 204
        for started_runner in self._started:
            started_runner.stop()

    def register(self, runner: ListingRunner) -> httpx.Response:
        return self.coordinator.register(runner.url, "")

    def register_or_fail(self, runner: ListingRunner) -> dict[str, Any]:
        answer = self.register(runner)
        assert answer.status_code == 201, answer.text
        return dict(answer.json())

    def enrol(self, runner: ListingRunner, name: str) -> httpx.Response:
        return self.coordinator.http.post(
            "/runners/enrol",
            json={"name": name, "url": runner.url, "secret": "p" * 32},
            headers={"Authorization": f"Bearer {EnrolmentToken.make(ENROLMENT_KEY, name, f'{self.framework}/cpu')}"},
        )

    def run(self) -> int:
        """Run a campaign of all available cases to its end."""
        campaign = self.coordinator.submit(suite="paper", functions=["*"], targets=[f"{self.framework}/cpu"])
        final_state = self.coordinator.wait_ended(campaign)
        assert final_state["counters"]["passed"] == final_state["counters"]["total"]
        return campaign

    def cells(self, campaign: int) -> list[tuple[str, str]]:
        """Function and case of each outcome that the matrix shows now."""
        return sorted((row["function"], row["case"]) for row in self.coordinator.outcomes(campaign))

    def runner_rows(self) -> list[dict[str, Any]]:
        """The rows of the runners, without columns that change all the time."""
        runners = self.coordinator.http.get("/runners").json()["runners"]
        ours = [runner for runner in runners if runner["framework"] == self.framework]
        return [{key: value for key, value in runner.items() if key != "last_seen"} for runner in ours]

    def catalogue_suites(self) -> list[Any]:
        suites = self.coordinator.http.get("/catalogue").json()["suites"]
        return [suite for suite in suites if suite["framework"] == self.framework]
