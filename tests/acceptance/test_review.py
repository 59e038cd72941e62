"""Causes are decided again by the current rules, or set by a person, over REST and from the command line."""

from __future__ import annotations

import asyncio
import csv
import io
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from tests.coordinator_process import CoordinatorProcess
from tests.portolan_process import Portolan
from tests.runner_process import RunnerProcess

WRONG = {"case": "hazards.add/wrong", "target": "hazards/cpu", "why": "the case's own reference is wrong"}


@pytest.fixture
def campaign(coordinator: CoordinatorProcess, runner: RunnerProcess) -> int:
    """A campaign with two runs of three right cases, of a wrong case, and of a case that crashes."""
    campaign = coordinator.submit("hazards.add", "hazards.segfault", runs=2, timing="off")
    coordinator.wait_ended(campaign)
    return campaign


@pytest.fixture
def portolan(tmp_path: Path, coordinator: CoordinatorProcess) -> Portolan:
    return Portolan(tmp_path, PORTOLAN_URL=f"http://127.0.0.1:{coordinator.port}")


def execute(coordinator: CoordinatorProcess, statement: str, *values: Any) -> None:
    async def run() -> None:
        connection = await asyncpg.connect(coordinator.dsn)
        try:
            await connection.execute(statement, *values)
        finally:
            await connection.close()

    asyncio.run(run())


def as_older_rules_had_it(coordinator: CoordinatorProcess, campaign: int) -> None:
    execute(
        coordinator,
        "update outcomes set cause = 'unknown', rule = 'an-older-rule' where campaign_id = $1 and verdict = 'failed'",
        campaign,
    )


def causes(coordinator: CoordinatorProcess, campaign: int) -> dict[str, tuple[str, str, str]]:
    rows = coordinator.outcomes(campaign)
    return {row["case"]: (row["verdict"], row["cause"], row["rule"]) for row in rows if row["cause"]}


def counters_of(coordinator: CoordinatorProcess, campaign: int) -> tuple[int, int, int]:
    counters = coordinator.campaign(campaign)["counters"]
    return counters["passed"], counters["failed"], counters["incomplete"]


def test_today_s_rules_are_applied_to_what_is_stored(
    coordinator: CoordinatorProcess, portolan: Portolan, campaign: int
) -> None:
    before = causes(coordinator, campaign)
    unchanged_output = portolan.ask("reclassify", str(campaign))
    assert "0 of 4 outcomes that did not pass changed" in unchanged_output
    as_older_rules_had_it(coordinator, campaign)
    assert set(causes(coordinator, campaign).values()) == {("failed", "unknown", "an-older-rule")}
    output = portolan.ask("reclassify", str(campaign))
    assert "4 of 4 outcomes that did not pass changed" in output
    assert "2: unknown (an-older-rule) → crash (died-of-signal)" in output
    assert causes(coordinator, campaign) == before


def test_a_verdict_that_changes_is_counted_anew(coordinator: CoordinatorProcess, campaign: int) -> None:
    execute(
        coordinator,
        "update outcomes set verdict = 'incomplete', cause = 'environment', rule = 'an-older-rule'"
        " where campaign_id = $1 and ending = 'signalled'",
        campaign,
    )
    execute(
        coordinator,
        "update campaign_targets set failed = failed - 2, incomplete = incomplete + 2 where campaign_id = $1",
        campaign,
    )
    assert counters_of(coordinator, campaign) == (6, 2, 2)
    answer = coordinator.http.post(f"/campaigns/{campaign}/reclassify").json()
    assert (answer["looked_at"], answer["changed"]) == (4, 2)
    assert counters_of(coordinator, campaign) == (6, 4, 0)


def test_all_campaigns_can_be_reclassified_at_once(coordinator: CoordinatorProcess, campaign: int) -> None:
    as_older_rules_had_it(coordinator, campaign)
    answer = coordinator.http.post("/reclassify").json()
    assert answer["changed"] == 4
    assert answer["looked_at"] >= 4


def test_a_person_s_word_wins_until_it_is_taken_back(
    coordinator: CoordinatorProcess, portolan: Portolan, campaign: int
) -> None:
    before = causes(coordinator, campaign)
    options = [f"--{name}={value}" for name, value in WRONG.items() if name != "case"]
    output = portolan.ask("override", str(campaign), WRONG["case"], "--cause", "environment", *options)
    assert output == "hazards@1.0/cpu  hazards.add/wrong: environment, incomplete, for 2 runs\n"
    assert causes(coordinator, campaign)["hazards.add/wrong"] == ("incomplete", "environment", "overridden")
    assert counters_of(coordinator, campaign) == (6, 2, 2)
    job = next(row["job_id"] for row in coordinator.outcomes(campaign) if row["case"] == WRONG["case"])
    page = f"{coordinator.url}/campaigns/{campaign}/outcomes/{job}?as=json"
    was = coordinator.http.get(page).json()["was"]
    assert (was["verdict"], was["cause"], was["rule"]) == before[WRONG["case"]]

    as_older_rules_had_it(coordinator, campaign)
    assert "2 outcomes keep the cause that a person set" in portolan.ask("reclassify", str(campaign))
    assert causes(coordinator, campaign)["hazards.add/wrong"][1] == "environment"

    matrix = coordinator.http.get(f"/campaigns/{campaign}/matrix").json()
    cells = {row["function"]: next(iter(row["cells"].values())) for row in matrix["rows"]}
    assert (cells["hazards.add"]["counts"]["anywhere"]["verdict"], cells["hazards.add"]["incomplete"]) == ("unknown", 1)
    assert "admin on" in portolan.ask("override", str(campaign))
    rows = list(csv.DictReader(io.StringIO(portolan.ask("results", str(campaign), "--format", "csv"))))
    assert {row["overridden_by"] for row in rows if row["case"] == WRONG["case"]} == {"admin"}
    assert {row["overridden_by"] for row in rows if row["case"] != WRONG["case"]} == {""}

    portolan.ask("override", str(campaign), WRONG["case"], "--target", "hazards/cpu", "--undo")
    assert causes(coordinator, campaign) == before
    assert counters_of(coordinator, campaign) == (6, 4, 0)
    assert coordinator.http.get(f"/campaigns/{campaign}/overrides").json() == {"overrides": []}


def test_a_second_word_replaces_the_first_and_keeps_what_the_rules_said(
    coordinator: CoordinatorProcess, campaign: int
) -> None:
    before = causes(coordinator, campaign)
    url = f"/campaigns/{campaign}/overrides"
    for cause in ("type", "precision"):
        answer = coordinator.http.put(url, json={**WRONG, "cause": cause})
        assert answer.status_code == 200, answer.text
        assert (answer.json()["cause"], answer.json()["outcomes"]) == (cause, 2)
    (only,) = coordinator.http.get(url).json()["overrides"]
    assert (only["cause"], only["by"], only["why"]) == ("precision", "admin", WRONG["why"])
    undo_answer = coordinator.http.delete(url, params={"case": WRONG["case"], "target": WRONG["target"]})
    assert undo_answer.status_code == 204
    assert causes(coordinator, campaign) == before


@pytest.mark.parametrize(
    ("change", "status", "words"),
    [
        ({"case": "hazards.add/none"}, 404, "no failed, skipped or incomplete outcome of hazards.add/none"),
        ({"target": "torch/*"}, 422, "matches 0 targets"),
        ({"target": "nonsense"}, 422, "framework/device"),
        ({"cause": "weather"}, 422, "cause"),
        ({"by": "Eve"}, 422, "by"),
        ({"why": ""}, 422, "why"),
        ({"when": "now"}, 422, "when"),
    ],
)
def test_a_word_that_says_nothing_is_refused(
    coordinator: CoordinatorProcess, campaign: int, change: dict[str, str], status: int, words: str
) -> None:
    answer = coordinator.http.put(f"/campaigns/{campaign}/overrides", json={**WRONG, "cause": "type", **change})
    assert (answer.status_code, words in answer.json()["detail"]) == (status, True), answer.text


def test_what_passed_has_no_cause_to_name(coordinator: CoordinatorProcess, portolan: Portolan, campaign: int) -> None:
    passed_case = next(row["case"] for row in coordinator.outcomes(campaign, verdict="passed"))
    answer = coordinator.http.put(
        f"/campaigns/{campaign}/overrides", json={**WRONG, "cause": "type", "case": passed_case}
    )
    assert answer.status_code == 404
    assert "an override needs a target" in portolan.refused("override", str(campaign), passed_case)
    assert "--why" in portolan.refused("override", str(campaign), passed_case, "--target", "hazards/cpu")
    undo = ("override", str(campaign), WRONG["case"], "--target", "hazards/cpu", "--undo")
    assert "is not overridden" in portolan.refused(*undo)
    assert "no campaign 999" in portolan.refused("reclassify", "999")


def test_a_campaign_that_still_runs_is_not_judged(coordinator: CoordinatorProcess, runner: RunnerProcess) -> None:
    running = coordinator.submit("hazards.add", "hazards.hang", timing="off")
    answer = coordinator.http.put(f"/campaigns/{running}/overrides", json={**WRONG, "cause": "type"})
    state = coordinator.campaign(running)["state"]
    coordinator.http.post(f"/campaigns/{running}/cancel")
    assert state == "running"
    assert answer.status_code == 409
