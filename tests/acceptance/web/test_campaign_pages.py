"""A campaign's page, and cancelling the campaign, without JavaScript."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

import pytest

from tests.acceptance.web.visitor import Visitor, text
from tests.coordinator_process import CoordinatorProcess
from tests.runner_process import RunnerProcess
from tests.waiting import until


@pytest.fixture(scope="module")
def ended_campaign(coordinator: CoordinatorProcess, runner: RunnerProcess) -> int:
    campaign = coordinator.submit("hazards.add", "hazards.segfault", runs=2, name="<b>Bold</b> & ended")
    coordinator.wait_ended(campaign)
    return campaign


@pytest.fixture
def running(coordinator: CoordinatorProcess, runner: RunnerProcess) -> Iterator[int]:
    campaign = coordinator.submit("hazards.hang", runs=1)
    until(lambda: coordinator.http.get("/runners").json()["runners"][0]["in_flight"], "the campaign runs")
    yield campaign
    coordinator.http.post(f"/campaigns/{campaign}/cancel")


def test_a_campaign_says_what_was_asked_for_how_far_it_is_and_what_failed(
    visitor: Visitor, ended_campaign: int
) -> None:
    page = visitor.read(f"/campaigns/{ended_campaign}")
    page_text = text(page)
    assert "10 of 10 jobs are done." in page_text
    assert "hazards.add, hazards.segfault" in page_text
    assert "hazards@1.0/cpu on the host : 0 of 2 functions pass every case, 0 of 2 on the device." in page_text
    assert f'href="/campaigns/{ended_campaign}/matrix?q=cause%3Acrash&amp;rule=anywhere"' in page
    assert "<b>Bold</b> & ended" in page_text, "a name is text, whatever it holds"
    assert "<b>Bold" not in page


def test_both_verdicts_of_its_functions_are_counted_by_target(visitor: Visitor, ended_campaign: int) -> None:
    (line,) = visitor.data(f"/campaigns/{ended_campaign}")["targets"]
    alike = {"success": 0, "partial": 1, "complete": 1, "unknown": 0}
    assert line["functions"] == {"anywhere": alike, "on_device": alike}
    (row,) = csv.DictReader(io.StringIO(visitor.http.get(f"/campaigns/{ended_campaign}?as=csv").text))
    assert (row["total"], row["passed"], row["failed"]) == ("10", "6", "4")
    assert (row["verdict_partial"], row["verdict_on_device_complete"]) == ("1", "1")


def test_what_failed_lately_leads_to_its_outcome(
    visitor: Visitor, coordinator: CoordinatorProcess, ended_campaign: int
) -> None:
    failure_groups = visitor.data(f"/campaigns/{ended_campaign}")["failed_lately"]
    assert {job for group in failure_groups for job in group["jobs"]} == {
        row["job_id"] for row in coordinator.outcomes(ended_campaign, verdict="failed")
    }
    assert {(group["function"], group["cause"]) for group in failure_groups} == {
        ("hazards.segfault", "crash"),
        ("hazards.add", "assertion"),
    }


def test_only_a_campaign_that_runs_is_followed(visitor: Visitor, ended_campaign: int, running: int) -> None:
    assert f'data-events="/api/v1/campaigns/{running}/events"' in visitor.read(f"/campaigns/{running}")
    assert "live.js" not in visitor.read(f"/campaigns/{ended_campaign}")


def test_a_campaign_is_cancelled_after_a_question(visitor: Visitor, running: int) -> None:
    assert "3 jobs will not run" in text(visitor.read(f"/campaigns/{running}/cancel"))
    answer = visitor.send(f"/campaigns/{running}/cancel", {})
    assert (answer.status_code, answer.headers["location"]) == (303, f"/campaigns/{running}")
    assert "cancelled : 0 of 3 jobs are done, 3 were cancelled." in text(visitor.read(f"/campaigns/{running}"))


def test_another_site_cannot_cancel_a_campaign(visitor: Visitor, running: int) -> None:
    answer = visitor.send(f"/campaigns/{running}/cancel", {}, **{"Sec-Fetch-Site": "cross-site"})
    assert answer.status_code == 403
    assert visitor.data(f"/campaigns/{running}")["campaign"]["state"] == "running"


def test_what_has_ended_cannot_be_cancelled_and_says_so(visitor: Visitor, ended_campaign: int) -> None:
    assert "there is nothing left to cancel" in text(visitor.read(f"/campaigns/{ended_campaign}/cancel"))
    answer = visitor.send(f"/campaigns/{ended_campaign}/cancel", {})
    assert answer.status_code == 409
    assert "there is nothing left to cancel" in text(answer.text)


def test_an_unknown_campaign_is_a_page_that_helps(visitor: Visitor) -> None:
    for path in ("/campaigns/987654", "/campaigns/987654/cancel"):
        assert "there is no campaign 987654" in text(visitor.read(path, 404))


def test_jobs_that_no_runner_serves_are_said_to_wait(visitor: Visitor, coordinator: CoordinatorProcess) -> None:
    """This is the last test that needs the runner, because it removes the runner."""
    before = visitor.data("/runners")[0]["runner"]["id"]
    campaign = coordinator.submit("hazards.hang", runs=1)
    visitor.send(f"/runners/{before}/remove", {})
    try:
        assert "No live runner serves hazards@1.0/cpu" in text(visitor.read(f"/campaigns/{campaign}"))
    finally:
        visitor.send(f"/campaigns/{campaign}/cancel", {})
