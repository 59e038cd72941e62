"""The REST API, driven as a user drives it, against a real runner of the hazards."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pyarrow.parquet as pq
import pytest

from coordinator.figures.counting import NAMES
from tests.coordinator_process import CoordinatorProcess
from tests.runner_process import RunnerProcess


@pytest.fixture(scope="module")
def campaign(coordinator: CoordinatorProcess, runner: RunnerProcess) -> int:
    """A finished campaign: three right cases and a wrong one, each in two runs, and one that is gone."""
    campaign = coordinator.submit("hazards.add", "hazards.gone", runs=2, timing="steady", name="first")
    coordinator.wait_ended(campaign)
    return campaign


def test_a_campaign_is_done_when_all_its_jobs_are(coordinator: CoordinatorProcess, campaign: int) -> None:
    detail = coordinator.campaign(campaign)
    assert detail["state"] == "done"
    assert detail["finished_at"] is not None
    counters = {"total": 10, "done": 10, "passed": 6, "failed": 2, "skipped": 2, "incomplete": 0, "cancelled": 0}
    assert detail["counters"] == counters
    (target,) = detail["by_target"]
    assert target["counters"] == counters
    assert target["device"] == "cpu"
    assert detail["estimate"]["seconds"] == 0


def test_the_matrix_says_what_ports(coordinator: CoordinatorProcess, campaign: int) -> None:
    matrix = coordinator.http.get(f"/campaigns/{campaign}/matrix").json()
    cells = {row["function"]: next(iter(row["cells"].values())) for row in matrix["rows"]}
    add = cells["hazards.add"]
    counts = add["counts"]["anywhere"]
    assert (counts["verdict"], counts["passed"], counts["failed"], counts["total"]) == ("partial", 3, 1, 4)
    assert counts["cause"] == "assertion"
    assert add["steady_ms"] > 0
    gone_cell = cells["hazards.gone"]
    counts = gone_cell["counts"]["anywhere"]
    assert (counts["verdict"], counts["total"], counts["cause"]) == ("unknown", 0, None)
    assert (gone_cell["skipped"], gone_cell["not_counted_cause"]) == (1, "removed")


def test_outcomes_come_in_pages(coordinator: CoordinatorProcess, campaign: int) -> None:
    rows: list[dict[str, Any]] = []
    after: int | None = 0
    while after is not None:
        page = coordinator.http.get(f"/campaigns/{campaign}/outcomes", params={"limit": 3, "after": after}).json()
        rows += page["outcomes"]
        after = page["next"]
    assert [row["job_id"] for row in rows] == sorted({row["job_id"] for row in rows})
    assert len(rows) == 10


def test_outcomes_can_be_narrowed(coordinator: CoordinatorProcess, campaign: int) -> None:
    assert len(coordinator.outcomes(campaign, verdict="failed")) == 2
    assert len(coordinator.outcomes(campaign, cause="removed")) == 2
    assert len(coordinator.outcomes(campaign, function="hazards.g*")) == 2
    # An underscore is none of a pattern.
    answer = coordinator.http.get(f"/campaigns/{campaign}/outcomes?function=hazards_add")
    assert "no function matches 'hazards_add'" in answer.json()["detail"]


def test_every_outcome_says_where_it_ran_and_how_to_repeat_it(coordinator: CoordinatorProcess, campaign: int) -> None:
    failed_row = coordinator.outcomes(campaign, verdict="failed")[0]
    assert failed_row["repeat"] == "portolan-runner run hazards cpu hazards.add/wrong"
    assert failed_row["fingerprint"]["hardware"]
    assert failed_row["fingerprint"]["environment"]


def test_csv_and_parquet_hold_the_same_rows(coordinator: CoordinatorProcess, campaign: int) -> None:
    url = f"/campaigns/{campaign}/outcomes"
    rows = coordinator.outcomes(campaign)
    comma = list(csv.DictReader(io.StringIO(coordinator.http.get(url, params={"format": "csv"}).text)))
    table = pq.read_table(io.BytesIO(coordinator.http.get(url, params={"format": "parquet"}).content)).to_pylist()
    assert [int(row["job_id"]) for row in comma] == [row["job_id"] for row in rows]
    assert [row["job_id"] for row in table] == [row["job_id"] for row in rows]
    assert [row["verdict"] for row in table] == [row["verdict"] for row in rows]
    assert json.loads(comma[0]["fingerprint"]) == rows[0]["fingerprint"]
    assert list(comma[0]) == list(rows[0]) == list(table[0])
    empty = coordinator.http.get(url, params={"format": "csv", "verdict": "incomplete"}).text
    assert empty.strip().split(",") == list(rows[0]), "without rows, the header"


def test_progress_is_told_as_it_happens(coordinator: CoordinatorProcess, runner: RunnerProcess) -> None:
    campaign = coordinator.submit("hazards.nap", runs=4)
    kinds, last = [], {}
    with coordinator.http.stream("GET", f"/campaigns/{campaign}/events") as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        for line in answer.iter_lines():
            if line.startswith("event: "):
                kinds.append(line.removeprefix("event: "))
            if line.startswith("data: "):
                last = json.loads(line.removeprefix("data: "))
    assert kinds[0] == "progress"
    assert kinds[-1] == "ended"
    assert last["counters"]["done"] == 4


def test_a_dry_run_plans_and_stores_nothing(coordinator: CoordinatorProcess, campaign: int) -> None:
    before = coordinator.http.get("/campaigns").json()["campaigns"][0]["id"]
    answer = coordinator.http.post(
        "/campaigns", json={"suite": "hazards", "functions": ["hazards.add"], "runs": 5, "dry_run": True}
    )
    assert answer.status_code == 200
    assert (answer.json()["jobs"], answer.json()["cases"]) == (20, 4)
    assert answer.json()["estimate"]["seconds"] > 0, "the same cases ran here before"
    assert coordinator.http.get("/campaigns").json()["campaigns"][0]["id"] == before


OF_FUNCTIONS = (
    "api/v1/campaigns/{}/matrix?",
    "api/v1/compare?a={0}&b={0}&",
    "campaigns/{}/matrix?",
    "compare?a={0}&b={0}&",
)
OF_OUTCOMES = "api/v1/campaigns/{}/outcomes?"


@pytest.mark.parametrize("former", ["by=device", "counted_by=verdict_on_device", "verdict_on_device=failed"])
@pytest.mark.parametrize("path", [*OF_FUNCTIONS, OF_OUTCOMES])
def test_a_former_name_of_the_verdict_that_counts_is_refused(
    coordinator: CoordinatorProcess, campaign: int, path: str, former: str
) -> None:
    answer = coordinator.http.get(f"{coordinator.url}/{path.format(campaign)}{former}")
    assert answer.status_code == 422
    assert f"there is no parameter '{former.partition('=')[0]}': use 'rule' to choose how" in answer.json()["detail"]


@pytest.mark.parametrize("path", OF_FUNCTIONS)
def test_where_functions_are_counted_the_former_verdict_is_refused_too(
    coordinator: CoordinatorProcess, campaign: int, path: str
) -> None:
    answer = coordinator.http.get(f"{coordinator.url}/{path.format(campaign)}verdict=on_device")
    assert answer.status_code == 422
    assert "there is no parameter 'verdict': use 'rule' to choose how" in answer.json()["detail"]


@pytest.mark.parametrize("path", [*OF_FUNCTIONS, OF_OUTCOMES])
def test_an_unknown_counting_rule_is_refused_with_those_that_there_are(
    coordinator: CoordinatorProcess, campaign: int, path: str
) -> None:
    answer = coordinator.http.get(f"{coordinator.url}/{path.format(campaign)}rule=upside_down")
    assert (answer.status_code, answer.headers["content-type"]) == (422, "application/problem+json")
    rule_names = ", ".join(NAMES)
    assert answer.json()["detail"] == f"there is no counting rule 'upside_down'; choose one of: {rule_names}"


def test_a_rerun_plans_only_what_failed(coordinator: CoordinatorProcess, campaign: int) -> None:
    again = coordinator.submit("*", runs=1, rerun={"campaign": campaign, "which": "failed"})
    coordinator.wait_ended(again)
    assert [outcome["case"] for outcome in coordinator.outcomes(again)] == ["hazards.add/wrong"]
    assert coordinator.campaign(again)["rerun_of"] == campaign


def test_a_rerun_with_nothing_left_over_is_refused(coordinator: CoordinatorProcess, campaign: int) -> None:
    answer = coordinator.http.post(
        "/campaigns", json={"suite": "hazards", "rerun": {"campaign": campaign, "which": "incomplete"}}
    )
    assert answer.status_code == 422
    assert "nothing to run" in answer.json()["detail"]


def test_the_catalogue_lists_functions_and_who_serves_them(
    coordinator: CoordinatorProcess, runner: RunnerProcess
) -> None:
    suites = {offer["suite"]: offer for offer in coordinator.http.get("/catalogue").json()["suites"]}
    assert suites.keys() == {"conformance", "hazards"}
    suite = suites["hazards"]
    assert [target.rsplit("/", 1)[1] for target in suite["targets"]] == ["cpu"]
    functions = {function["function"]: function["cases"] for function in suite["functions"]}
    assert functions["hazards.add"] == 4


def test_a_finished_campaign_cannot_be_cancelled(coordinator: CoordinatorProcess, campaign: int) -> None:
    answer = coordinator.http.post(f"/campaigns/{campaign}/cancel")
    assert answer.status_code == 409
    assert "nothing left to cancel" in answer.json()["detail"]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"suite": "hazard"}, "no suite 'hazard'; did you mean hazards?"),
        ({"targets": ["torch/tpu"]}, "'torch/tpu' matches no live runner's target"),
        ({"targets": ["torch"]}, "not a target selector"),
        ({"functions": ["hazards.ad"]}, "did you mean hazards.add"),
        ({"timeout": 3}, "timeout"),
        ({"timeout_s": 0}, "timeout_s"),
        ({"timeout_s": -1}, "timeout_s"),
        ({"timeout_s": 14401}, "timeout_s: must be 14400 or less"),
        ({"timeout_s": "NaN"}, "timeout_s"),
        ({"runs": 0}, "runs"),
        ({"runs": 101}, "runs"),
        ({"timing": "sometimes"}, "timing"),
        ({"targets": []}, "targets"),
        ({"name": "x" * 300}, "name"),
        ({"rerun": {"campaign": 999999, "which": "failed"}}, "no campaign 999999"),
    ],
)
def test_a_bad_submission_is_refused_saying_why(
    coordinator: CoordinatorProcess, runner: RunnerProcess, body: dict[str, Any], message: str
) -> None:
    answer = coordinator.http.post("/campaigns", json={"suite": "hazards"} | body)
    assert answer.status_code in (404, 422)
    assert answer.headers["content-type"] == "application/problem+json"
    assert message in answer.json()["detail"]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/campaigns/999999", 404),
        ("GET", "/campaigns/0", 422),
        ("GET", "/campaigns/99999999999", 422),
        ("GET", "/history/torch/torch.nowhere", 404),
        ("GET", "/campaigns/999999/outcomes", 404),
        ("GET", "/campaigns/999999/outcomes?format=csv", 404),
        ("GET", "/campaigns/999999/matrix", 404),
        ("GET", "/campaigns/999999/events", 404),
        ("POST", "/campaigns/999999/cancel", 404),
        ("DELETE", "/runners/999999", 404),
        ("GET", "/nothing", 404),
        ("PUT", "/campaigns", 405),
    ],
)
def test_what_is_not_there_is_a_problem(coordinator: CoordinatorProcess, method: str, path: str, status: int) -> None:
    answer = coordinator.http.request(method, path)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["status"] == status


@pytest.mark.parametrize("path", ["outcomes?", "outcomes?format=csv&", "matrix?", "summary?", "conditions?"])
def test_a_filter_that_matches_nothing_is_refused_naming_what_there_is(
    coordinator: CoordinatorProcess, runner: RunnerProcess, path: str
) -> None:
    campaign = coordinator.submit("hazards.nap", runs=1)
    coordinator.wait_ended(campaign)
    wrong = {
        "device": ("cpuu", "did you mean cpu? it has cpu"),
        "function": ("hazards.nab", "did you mean hazards.nap"),
    }
    for field, (name, words) in wrong.items():
        if (path, field) == ("matrix?", "function"):
            continue  # of a query
        answer = coordinator.http.get(f"/campaigns/{campaign}/{path}{field}={name}")
        assert answer.status_code == 422, answer.text
        assert words in answer.json()["detail"]
    assert coordinator.http.get(f"/campaigns/{campaign}/{path}device=cpu").status_code == 200


def test_a_body_that_is_no_json_is_a_problem(coordinator: CoordinatorProcess) -> None:
    answer = coordinator.http.post("/campaigns", content=b"\xff{", headers={"Content-Type": "application/json"})
    assert answer.status_code in (400, 422)
    assert answer.headers["content-type"] == "application/problem+json"


def test_openapi_describes_the_api(coordinator: CoordinatorProcess) -> None:
    url = coordinator.http.base_url.join("/openapi.json")
    paths = coordinator.http.get(url).json()["paths"]
    assert {"/api/v1/campaigns", "/api/v1/campaigns/{campaign_id}/outcomes", "/api/v1/runners"} <= set(paths)


def test_a_name_that_is_none_is_no_runner(coordinator: CoordinatorProcess) -> None:
    answer = coordinator.register("http://xn--/", "secret")
    assert answer.status_code == 502, answer.text
    assert "xn--" in answer.json()["detail"]


def test_a_dry_run_is_true_or_false(coordinator: CoordinatorProcess) -> None:
    answer = coordinator.http.post("/campaigns", json={"dry_run": 0})
    assert answer.status_code == 422
    assert "dry_run" in answer.json()["detail"]
