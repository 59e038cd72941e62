"""An imported campaign and a dispatched campaign of one revision are compared like two dispatched campaigns."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import bundles
from tests.coordinator_process import CoordinatorProcess
from tests.runner_process import RunnerProcess

SECRET = "a secret of the tests"
RUNS = bundles.RUNS


@pytest.fixture
def coordinator(database: str) -> Iterator[CoordinatorProcess]:
    """A coordinator for each test, because a bundle can be imported only once."""
    coordinator = CoordinatorProcess(database)
    yield coordinator
    coordinator.stop()


@pytest.fixture
def runner() -> Iterator[RunnerProcess]:
    """A runner that is not yet registered."""
    runner = RunnerProcess(PORTOLAN_RUNNER_SECRET=SECRET)
    yield runner
    runner.stop()


def comparison_of(coordinator: CoordinatorProcess, a: int, b: int) -> dict[str, Any]:
    """The comparison of two campaigns, without the parts that name the campaigns."""
    answer = coordinator.http.get("/compare", params={"a": str(a), "b": str(b)}).json()
    assert answer["left_out"] == []
    (pair,) = answer["pairs"]
    return {name: pair[name] for name in ("framework", "notes", "verdicts")}


@pytest.mark.parametrize("first", ["the bundle", "the runner"])
def test_cells_of_one_revision_stay_comparable(
    first: str, coordinator: CoordinatorProcess, runner: RunnerProcess, tmp_path: Path
) -> None:
    bundle = bundles.make(tmp_path / "hazards.bundle")

    def register() -> None:
        answer = coordinator.register(runner.ready["url"], SECRET)
        assert answer.status_code == 201, answer.text

    if first == "the runner":
        register()
    import_answer = coordinator.http.post(bundles.UPLOAD, headers=bundles.HEADERS, content=bundle.read_bytes())
    assert import_answer.status_code == 201, import_answer.text
    imported_campaign = int(import_answer.json()["id"])
    if first == "the bundle":
        register()
    ran, again = (coordinator.submit(*bundles.FUNCTIONS, runs=RUNS) for _ in range(2))
    for campaign in (ran, again):
        coordinator.wait_ended(campaign)
    assert comparison_of(coordinator, imported_campaign, ran) == comparison_of(coordinator, ran, again)
    assert comparison_of(coordinator, ran, imported_campaign) == comparison_of(coordinator, again, ran)
    history = coordinator.http.get("/history/hazards/hazards.fail").json()["cells"]
    assert {cell["campaign_id"] for cell in history} == {imported_campaign, ran, again}
    suites = {(cell["suite"], cell["suite_revision"]) for cell in history}
    counts = {tuple(cell["counts"]["anywhere"].values()) for cell in history}
    assert (len(suites), len(counts)) == (1, 1)
    # What failed there is run again here: cases are the same by their names.
    rerun = coordinator.submit("*", runs=1, rerun={"campaign": imported_campaign, "which": "failed"})
    failed_cases = {row["case"] for row in coordinator.outcomes(imported_campaign, verdict="failed")}
    coordinator.wait_ended(rerun)
    assert {row["case"] for row in coordinator.outcomes(rerun)} == failed_cases
