"""Submitting a campaign with the form: a preview comes first, and each error is shown beside its field."""

from __future__ import annotations

import re

import pytest

from tests.acceptance.web.visitor import Visitor, beside, text
from tests.coordinator_process import CoordinatorProcess
from tests.runner_process import RunnerProcess

GOOD = {
    "suite": "hazards",
    "targets": ["hazards@1.0/cpu"],
    "functions": "hazards.add\nhazards.segfault",
    "runs": "2",
    "timing": "off",
    "timeout_s": "60",
}


@pytest.fixture(scope="module", autouse=True)
def live_runner(runner: RunnerProcess) -> None:
    """A registered runner, so that a campaign can be submitted."""


def campaigns(coordinator: CoordinatorProcess) -> int:
    return len(coordinator.http.get("/campaigns").json()["campaigns"])


def test_the_form_offers_what_live_runners_serve(visitor: Visitor) -> None:
    form = visitor.data("/campaigns/new")
    assert form["offered"]["suites"] == ["hazards", "conformance"]
    assert [target["target"] for target in form["offered"]["targets"]] == ["hazards@1.0/cpu"]
    assert form["filled"]["suite"] == "hazards"
    assert form["filled"]["targets"] == ["hazards@1.0/cpu"], "all that have the suite are chosen beforehand"


def test_a_preview_tells_jobs_by_target_and_submits_nothing(visitor: Visitor, coordinator: CoordinatorProcess) -> None:
    before = campaigns(coordinator)
    answer = visitor.send("/campaigns/new", {**GOOD, "do": "preview"})
    assert answer.status_code == 200
    assert "10 jobs: 2 functions in 5 cases" in text(answer.text)
    assert "hazards@1.0/cpu 2 10" in text(answer.text)
    assert campaigns(coordinator) == before
    assert ">hazards.add\nhazards.segfault</textarea>" in answer.text, "what was typed is still there"


def test_a_preview_is_what_is_submitted(visitor: Visitor, coordinator: CoordinatorProcess) -> None:
    answer = visitor.send("/campaigns/new", {**GOOD, "name": "from the form", "do": "submit"})
    assert answer.status_code == 303
    campaign = coordinator.wait_ended(int(answer.headers["location"].removeprefix("/campaigns/")))
    assert campaign["name"] == "from the form"
    assert campaign["counters"]["total"] == 10
    assert (campaign["runs"], campaign["timing"], campaign["timeout_s"]) == (2, "off", 60)
    again = visitor.send("/campaigns/new", {**GOOD, "do": "preview"})
    assert "Known from" in again.text
    assert re.search(r"10 jobs: 2 functions in 5 cases, about \d+\W+m?s", text(again.text)), "they have run before"


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("runs", "many", "must be a whole number (it is 'many')"),
        ("runs", "101", "must be 100 or less"),
        ("timeout_s", "0", "must be over 0"),
        ("timeout_s", "nan", "finite"),
        ("timing", "sometimes", "'off', 'quick', 'steady' or 'paper'"),
        ("suite", "hazard", "did you mean hazards?"),
        ("name", "x" * 201, "200 characters or fewer"),
        ("name", "a\0b", "NUL"),
        ("functions", "hazards.ad", "did you mean hazards.add"),
        ("other", "torch", "is not a target selector"),
        ("other", "torch/cpu", "matches no live runner's target (live: hazards@1.0/cpu)"),
    ],
)
def test_a_mistake_stands_beside_its_field_and_nothing_typed_is_lost(
    visitor: Visitor, coordinator: CoordinatorProcess, field: str, value: str, message: str
) -> None:
    before = campaigns(coordinator)
    answer = visitor.send("/campaigns/new", {**GOOD, field: value, "do": "submit"})
    assert answer.status_code == 422
    assert message in beside(answer.text, "targets" if field == "other" else field)
    assert value in answer.text or field == "timing" or "\0" in value
    assert "hazards.segfault" in answer.text or field == "functions"
    assert campaigns(coordinator) == before


def test_no_target_is_said_beside_the_targets(visitor: Visitor) -> None:
    answer = visitor.send("/campaigns/new", {**GOOD, "targets": [], "do": "preview"})
    assert answer.status_code == 422
    assert "choose at least one target" in beside(answer.text, "targets")


def test_markup_in_a_field_stays_text(visitor: Visitor) -> None:
    answer = visitor.send(
        "/campaigns/new", {**GOOD, "name": '"><script>alert(1)</script>', "functions": "</textarea>x"}
    )
    assert "<script>alert" not in answer.text
    assert "</textarea>x" not in answer.text


def test_the_form_can_be_filled_in_by_its_address(visitor: Visitor) -> None:
    link = re.search(r'href="(/campaigns/new\?[^"]+)"', visitor.send("/campaigns/new", {**GOOD, "do": "preview"}).text)
    assert link
    form = visitor.data(link[1].replace("&amp;", "&"))["filled"]
    assert {name: form[name] for name in GOOD} == GOOD


def test_what_failed_is_run_again_with_a_form_filled_in(visitor: Visitor, coordinator: CoordinatorProcess) -> None:
    campaign = coordinator.submit("hazards.add", "hazards.segfault", runs=1, name="first")
    coordinator.wait_ended(campaign)
    assert f'href="/campaigns/new?rerun={campaign}&amp;which=failed"' in visitor.read(f"/campaigns/{campaign}")
    form = visitor.data("/campaigns/new", rerun=campaign, which="failed")["filled"]
    assert form["name"] == "first, what was failed"
    answer = visitor.send("/campaigns/new", {**form, "do": "submit"})
    assert answer.status_code == 303, text(answer.text)
    again = coordinator.wait_ended(int(answer.headers["location"].removeprefix("/campaigns/")))
    assert (again["rerun_of"], again["counters"]["total"]) == (campaign, 2)


def test_a_part_of_nothing_is_refused_in_one_sentence(visitor: Visitor, coordinator: CoordinatorProcess) -> None:
    campaign = coordinator.submit("hazards.add", runs=1)
    coordinator.wait_ended(campaign)
    answer = visitor.send("/campaigns/new", {**GOOD, "rerun": str(campaign), "which": "incomplete", "do": "submit"})
    assert answer.status_code == 422
    assert "there is nothing to run" in text(answer.text)


def test_a_rerun_of_a_campaign_that_is_not_there_is_refused(visitor: Visitor) -> None:
    assert "there is no campaign 999999" in text(visitor.read("/campaigns/new?rerun=999999", 404))
    for rerun in ("999999", "first", "99999999999999999999"):
        answer = visitor.send("/campaigns/new", {**GOOD, "rerun": rerun, "which": "failed", "do": "submit"})
        assert answer.status_code == 422
        assert "rerun" in text(answer.text) or "there is no campaign" in text(answer.text)


def test_another_site_cannot_submit(visitor: Visitor, coordinator: CoordinatorProcess) -> None:
    before = campaigns(coordinator)
    assert (
        visitor.send("/campaigns/new", {**GOOD, "do": "submit"}, **{"Sec-Fetch-Site": "cross-site"}).status_code == 403
    )
    assert campaigns(coordinator) == before
