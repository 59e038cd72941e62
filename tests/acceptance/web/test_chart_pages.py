"""The pages of the matrix, a function, an outcome, a comparison and a history, as a browser requests them."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import pytest

from tests.acceptance.web.visitor import form_token, text
from tests.admin import AS_ADMIN
from tests.coordinator_process import CoordinatorProcess
from tests.portolan_process import Portolan
from tests.runner_process import RunnerProcess

FUNCTIONS = (
    "hazards.add",
    "hazards.segfault",
    "hazards.fail",
    "hazards.fail_with_odd_text",
    "hazards.print_everywhere",
)


@pytest.fixture(scope="module")
def campaign(coordinator: CoordinatorProcess, runner: RunnerProcess) -> int:
    campaign = coordinator.submit(*FUNCTIONS, runs=2, timing="steady", name="<script>alert(1)</script>")
    coordinator.wait_ended(campaign)
    return campaign


@pytest.fixture(scope="module")
def later(coordinator: CoordinatorProcess, runner: RunnerProcess, campaign: int) -> int:
    later = coordinator.submit("hazards.add", "hazards.fail", runs=2, timing="steady", name="later")
    coordinator.wait_ended(later)
    return later


@pytest.fixture(scope="module")
def browser(coordinator: CoordinatorProcess) -> Iterator[httpx.Client]:
    with httpx.Client(
        base_url=f"http://127.0.0.1:{coordinator.port}", headers={"Accept": "text/html", **AS_ADMIN}, timeout=60
    ) as client:
        yield client


def send(browser: httpx.Client, path: str, **fields: str) -> httpx.Response:
    return browser.post(path, data={"form_token": form_token(browser), **fields})


def text_of(answer: httpx.Response) -> str:
    return text(answer.text)


def execute(coordinator: CoordinatorProcess, statement: str, *values: Any) -> None:
    async def run() -> None:
        connection = await asyncpg.connect(coordinator.dsn)
        try:
            await connection.execute(statement, *values)
        finally:
            await connection.close()

    asyncio.run(run())


def rewrite(coordinator: CoordinatorProcess, campaign: int, case: str, verdict: str, cause: str | None) -> None:
    """Change the stored outcome of the case in this campaign."""
    execute(
        coordinator,
        "update outcomes o set verdict = $1, cause = $2 from cases c"
        " where c.id = o.case_id and c.name = $3 and o.campaign_id = $4",
        *(verdict, cause, case, campaign),
    )
    execute(
        coordinator,
        "update campaign_targets set reclassifications = reclassifications + 1 where campaign_id = $1",
        campaign,
    )


def outcome_of(coordinator: CoordinatorProcess, campaign: int, case: str, run: int = 1) -> dict[str, Any]:
    return next(row for row in coordinator.outcomes(campaign) if (row["case"], row["run"]) == (case, run))


def test_the_matrix_shows_every_function_by_module(browser: httpx.Client, campaign: int) -> None:
    answer = browser.get(f"/campaigns/{campaign}/matrix")
    assert answer.status_code == 200
    text = text_of(answer)
    assert "5 functions" in text
    for words in ("hazards@1.0/cpu", "add", "3/4", "segfault", "0/1", "crash"):
        assert words in text
    assert "<script>alert" not in answer.text


def test_a_query_narrows_the_matrix_and_its_data(browser: httpx.Client, campaign: int) -> None:
    address = f"/campaigns/{campaign}/matrix"
    answer = browser.get(address, params={"q": "partial:cpu"})
    assert "1 of 5 functions" in text_of(answer)
    assert "segfault" not in text_of(answer).partition("Find functions")[2].partition("module")[2]
    data = browser.get(address, params={"q": "cause:crash", "as": "json"}).json()
    assert [row["function"] for row in data["rows"]] == ["hazards.segfault"]
    rows = list(csv.DictReader(io.StringIO(browser.get(address, params={"q": "fails:cpu", "as": "csv"}).text)))
    assert {row["function"]: row["verdict"] for row in rows} == {
        "hazards.add": "partial",
        "hazards.segfault": "complete",
        "hazards.fail": "complete",
        "hazards.fail_with_odd_text": "complete",
    }
    none = browser.get(address, params={"q": "torch.*"})
    assert none.status_code == 200
    assert "No function matches" in text_of(none)


@pytest.mark.parametrize("query", ["fals:cpu", "cause:typo", "fails:tpu", "slower:cpu>fast", "<b>x:</b>"])
def test_a_malformed_query_says_where_it_is_wrong_and_shows_examples(
    browser: httpx.Client, coordinator: CoordinatorProcess, campaign: int, query: str
) -> None:
    answer = browser.get(f"/campaigns/{campaign}/matrix", params={"q": f"add {query}"})
    assert answer.status_code == 422
    assert "^ here" in answer.text
    assert "fails:xla passes:cpu" in text_of(answer)
    assert "<b>x" not in answer.text
    assert coordinator.http.get(f"/campaigns/{campaign}/matrix", params={"q": query}).status_code == 422


def test_a_function_has_every_run_with_what_repeats_it(browser: httpx.Client, campaign: int) -> None:
    answer = browser.get(f"/campaigns/{campaign}/functions/hazards/hazards.add")
    assert answer.status_code == 200
    text = text_of(answer)
    for words in (
        "hazards.add/wrong",
        "portolan-runner run hazards cpu hazards.add/wrong",
        "Fingerprint",
        "fails some",
    ):
        assert words in text
    assert 'class="strips"' in answer.text
    rows = list(csv.DictReader(io.StringIO(browser.get(answer.url, params={"as": "csv"}).text)))
    assert len(rows) == 8
    assert browser.get(f"/campaigns/{campaign}/functions/hazards/hazards.none").status_code == 404
    assert browser.get("/campaigns/999/functions/hazards/hazards.add").status_code == 404


def test_an_outcome_has_its_evidence_log_attempts_and_fingerprint(
    browser: httpx.Client, coordinator: CoordinatorProcess, campaign: int
) -> None:
    crashed_row = outcome_of(coordinator, campaign, "hazards.segfault/0")
    answer = browser.get(f"/campaigns/{campaign}/outcomes/{crashed_row['job_id']}")
    text = text_of(answer)
    for words in ("crash", "SIGSEGV", "died-of-signal", "Attempts", "the host", "Override the cause"):
        assert words in text
    odd = outcome_of(coordinator, campaign, "hazards.fail_with_odd_text/0")
    assert "a lone surrogate" in text_of(browser.get(f"/campaigns/{campaign}/outcomes/{odd['job_id']}"))
    assert browser.get(f"/campaigns/{campaign}/outcomes/999999").status_code == 404
    assert browser.get(f"/campaigns/999/outcomes/{odd['job_id']}").status_code == 404


def test_an_outcome_says_how_it_was_after_other_cases_and_which_operation_was_wrong(
    browser: httpx.Client, coordinator: CoordinatorProcess, campaign: int
) -> None:
    wrong = outcome_of(coordinator, campaign, "hazards.add/wrong")
    assert (wrong["position"], wrong["after_others"]) == (0, "failed_alike")
    address = f"/campaigns/{campaign}/outcomes/{wrong['job_id']}"
    assert "after other cases, in their process: it failed in the same way" in text_of(browser.get(address))
    evidence = {"operation": "aten::add", "dtypes": ["float64"], "after_others": "failed_otherwise"}
    execute(
        coordinator,
        "update outcomes set evidence = evidence || $2::jsonb where job_id = $1",
        wrong["job_id"],
        json.dumps(evidence),
    )
    text = text_of(browser.get(address))
    assert "it failed in another way" in text
    assert "aten::add of float64 the first operation whose result differs from the host's" in text
    assert outcome_of(coordinator, campaign, "hazards.add/wrong")["operation"] == "aten::add"


def test_a_million_characters_of_log_are_cut_with_a_link_to_all(
    browser: httpx.Client, coordinator: CoordinatorProcess, campaign: int
) -> None:
    loud = outcome_of(coordinator, campaign, "hazards.print_everywhere/0")["job_id"]
    assert "from descriptor 1" in text_of(browser.get(f"/campaigns/{campaign}/outcomes/{loud}"))
    execute(
        coordinator,
        "update outcomes set log_tail = 'begin ' || repeat('é<', 500000) || ' end', log_bytes = 5000000"
        " where job_id = $1",
        loud,
    )
    page = browser.get(f"/campaigns/{campaign}/outcomes/{loud}")
    assert len(page.text) < 300_000
    assert "begin" not in page.text.partition("<h2>Log</h2>")[2]
    assert "the runner kept only the end" in text_of(page)
    assert "All 1,000,010" in text_of(page)
    log = browser.get(f"/campaigns/{campaign}/outcomes/{loud}/log")
    assert log.headers["content-type"] == "text/plain; charset=utf-8"
    assert (len(log.text), log.text[:6], log.text[-4:]) == (1_000_010, "begin ", " end")


def test_a_person_names_a_cause_and_takes_it_back(
    browser: httpx.Client, coordinator: CoordinatorProcess, campaign: int
) -> None:
    failed_row = outcome_of(coordinator, campaign, "hazards.fail/0")
    address = f"/campaigns/{campaign}/outcomes/{failed_row['job_id']}"
    empty = send(browser, f"{address}/override", cause="", why="half typed")
    assert empty.status_code == 422
    assert "choose a cause" in text_of(empty)
    assert "half typed" in empty.text
    override_answer = send(browser, f"{address}/override", cause="memory", why="<b>it</b> swaps")
    assert (override_answer.status_code, override_answer.headers["location"]) == (303, f"{address}#cause")
    text = text_of(browser.get(address))
    assert "set by admin" in text
    assert "<b>it</b> swaps" in text
    for run in (1, 2):
        assert outcome_of(coordinator, campaign, "hazards.fail/0", run)["cause"] == "memory"
    data = browser.get(f"/campaigns/{campaign}/matrix", params={"q": "cause:memory", "as": "json"}).json()
    assert [row["function"] for row in data["rows"]] == ["hazards.fail"]
    assert send(browser, f"{address}/undo").status_code == 303
    assert outcome_of(coordinator, campaign, "hazards.fail/0")["cause"] == failed_row["cause"]
    assert send(browser, f"{address}/undo").status_code == 404


@pytest.mark.parametrize("header", [{"Sec-Fetch-Site": "cross-site"}, {"Origin": "https://elsewhere.example"}])
def test_another_site_s_form_is_refused(
    browser: httpx.Client, coordinator: CoordinatorProcess, campaign: int, header: dict[str, str]
) -> None:
    failed_row = outcome_of(coordinator, campaign, "hazards.fail/0")
    answer = browser.post(
        f"/campaigns/{campaign}/outcomes/{failed_row['job_id']}/override",
        data={"cause": "memory", "why": "because", "form_token": form_token(browser)},
        headers=header,
    )
    assert answer.status_code == 403
    assert outcome_of(coordinator, campaign, "hazards.fail/0")["cause"] == failed_row["cause"]


def test_what_passed_has_no_cause_to_name(
    browser: httpx.Client, coordinator: CoordinatorProcess, campaign: int
) -> None:
    passed_row = outcome_of(coordinator, campaign, "hazards.add/0")
    address = f"/campaigns/{campaign}/outcomes/{passed_row['job_id']}"
    assert "no cause to set" in text_of(browser.get(address))
    refusal = send(browser, f"{address}/override", cause="type", why="so")
    assert refusal.status_code == 422


def test_two_campaigns_are_compared_on_a_page_over_rest_and_on_the_command_line(
    browser: httpx.Client, coordinator: CoordinatorProcess, campaign: int, later: int, tmp_path: Path
) -> None:
    answer = browser.get("/compare", params={"a": campaign, "b": later})
    assert answer.status_code == 200
    text = text_of(answer)
    assert "0 regressions" in text
    assert "Without a result on B: 3" in text
    assert "no outcome on B" in text
    assert "could not be finished" not in text
    assert "fails 1 of 1 case: in every case; its suite does not say who judged" in text
    comparison = coordinator.http.get("/compare", params={"a": campaign, "b": later}).json()
    (pair,) = comparison["pairs"]
    assert pair["verdicts"]["counts"]["same"] == 2
    assert {change["function"] for change in pair["verdicts"]["changes"]} == set(FUNCTIONS) - {
        "hazards.add",
        "hazards.fail",
    }
    portolan = Portolan(tmp_path, PORTOLAN_URL=f"http://127.0.0.1:{coordinator.port}")
    output = portolan.ask("compare", str(campaign), str(later), "--fail-on", "regression")
    assert (
        "0 regressions, 0 fixed, 0 with both, 0 with other changes, 2 unchanged, 3 without a result on B, 0 with "
        in output
    )
    assert "on A it fails 1 of 1 case: in every case; its suite does not say who judged" in output
    assert json.loads(portolan.ask("compare", str(campaign), str(later), "--json"))["pairs"]


@pytest.mark.parametrize(
    ("a", "b", "status", "words"),
    [
        ("1", "1", 422, "both sides are the same"),
        ("one", "2", 422, "'one' is not a campaign"),
        ("1:torch/cpu", "2", 422, "name a target on both sides"),
        ("1:torch/cpu", "2:hazards/cpu", 422, "matches 0 targets"),
        ("1", "999", 404, "no campaign 999"),
    ],
)
def test_what_cannot_be_compared_is_said_beside_the_form(
    browser: httpx.Client, campaign: int, later: int, a: str, b: str, status: int, words: str
) -> None:
    answer = browser.get("/compare", params={"a": a, "b": b})
    assert answer.status_code == status
    assert words in text_of(answer)
    assert 'name="a"' in answer.text


def test_the_compare_page_offers_each_campaign_and_each_of_its_targets(
    browser: httpx.Client, campaign: int, later: int
) -> None:
    answer = browser.get("/compare")
    assert answer.status_code == 200
    assert "<input" not in answer.text.partition("<form")[2].partition("</form>")[0], "nobody must type a number"
    for side in "ab":
        options = offered_sides(answer.text, side)
        assert {str(campaign), str(later), f"{campaign}:hazards@1.0/cpu", f"{later}:hazards@1.0/cpu"} <= options.keys()
        assert options[f"{campaign}:hazards@1.0/cpu"].startswith(f"{campaign}: ")


def test_the_compare_page_keeps_a_side_that_it_does_not_offer(browser: httpx.Client, campaign: int, later: int) -> None:
    answer = browser.get("/compare", params={"a": f"{campaign}:hazards/cpu", "b": later})
    assert f"<option selected>{campaign}:hazards/cpu</option>" in answer.text
    assert f'<option value="{later}" selected>' in answer.text


def offered_sides(html: str, side: str) -> dict[str, str]:
    """The text of each option of a side's field, by its value."""
    field = html.partition(f'<select id="{side}" name="{side}" required>')[2].partition("</select>")[0]
    return dict(re.findall(r'<option value="([^"]+)"[^>]*>([^<]+)</option>', field))


def test_a_regression_fails_the_build(
    coordinator: CoordinatorProcess, browser: httpx.Client, campaign: int, later: int, tmp_path: Path
) -> None:
    """The stored outcomes are changed: the case that fails in both campaigns passed in the earlier one."""
    execute(
        coordinator,
        "update outcomes o set verdict = 'passed', cause = null, rule = null from cases c"
        " where c.id = o.case_id and c.name = 'hazards.add/wrong' and o.campaign_id = $1",
        campaign,
    )
    execute(
        coordinator,
        "update campaign_targets set reclassifications = reclassifications + 1 where campaign_id = $1",
        campaign,
    )
    portolan = Portolan(tmp_path, PORTOLAN_URL=f"http://127.0.0.1:{coordinator.port}")
    process = portolan.call("compare", str(campaign), str(later), "--fail-on", "regression")
    assert process.returncode == 1, process.stdout
    assert "regression: hazards.add: passes 4/4 → fails some 3/4" in process.stdout
    assert "1 worse (hazards.add/wrong)" in process.stdout
    assert portolan.ask("compare", str(later), str(campaign), "--fail-on", "regression").count("1 fixed") == 1
    page_text = text_of(browser.get("/compare", params={"a": campaign, "b": later}))
    assert "Passes on A, fails on B: 1" in page_text
    assert "1 worse (hazards.add/wrong)" in page_text


def test_a_case_mended_and_a_case_broken_fail_the_build_although_the_counts_are_equal(
    coordinator: CoordinatorProcess, campaign: int, later: int, tmp_path: Path
) -> None:
    """The stored outcomes are changed: in the earlier campaign another case was wrong."""
    rewrite(coordinator, campaign, "hazards.add/wrong", "passed", None)
    rewrite(coordinator, campaign, "hazards.add/0", "failed", "type")
    portolan = Portolan(tmp_path, PORTOLAN_URL=f"http://127.0.0.1:{coordinator.port}")
    both = (str(campaign), str(later))
    process = portolan.call("compare", *both, "--fail-on", "regression")
    assert process.returncode == 1, process.stdout
    assert "mixed: hazards.add: fails some 3/4" in process.stdout
    assert "1 worse (hazards.add/wrong), 1 better (hazards.add/0)" in process.stdout
    assert portolan.call("compare", *both[::-1], "--fail-on", "regression").returncode == 1


def test_another_cause_fails_the_build_that_asks_for_any_change(
    coordinator: CoordinatorProcess, campaign: int, later: int, tmp_path: Path
) -> None:
    rewrite(coordinator, campaign, "hazards.add/wrong", "failed", "assertion")
    rewrite(coordinator, campaign, "hazards.add/0", "passed", None)
    rewrite(coordinator, campaign, "hazards.fail/0", "failed", "memory")
    portolan = Portolan(tmp_path, PORTOLAN_URL=f"http://127.0.0.1:{coordinator.port}")
    both = (str(campaign), str(later))
    assert portolan.call("compare", *both, "--fail-on", "regression").returncode == 0
    process = portolan.call("compare", *both, "--fail-on", "change")
    assert process.returncode == 1, process.stdout
    assert "change: hazards.fail: fails all 0/1" in process.stdout
    assert "1 with another cause (hazards.fail/0)" in process.stdout


def test_a_function_s_history_holds_every_campaign(
    browser: httpx.Client, coordinator: CoordinatorProcess, campaign: int, later: int, tmp_path: Path
) -> None:
    answer = browser.get("/history/hazards/hazards.add")
    assert answer.status_code == 200
    assert "later" in text_of(answer)
    cells = coordinator.http.get("/history/hazards/hazards.add").json()["cells"]
    assert [cell["campaign_id"] for cell in cells] == [later, campaign]
    portolan = Portolan(tmp_path, PORTOLAN_URL=f"http://127.0.0.1:{coordinator.port}")
    output = portolan.ask("history", "hazards.add")
    assert output.count("hazards@1.0/cpu") == 2
    assert browser.get("/history/hazards/hazards.none").status_code == 404


def test_a_campaign_without_outcomes_has_pages_that_say_so(
    browser: httpx.Client, coordinator: CoordinatorProcess, runner: RunnerProcess
) -> None:
    campaign = coordinator.submit("hazards.hang", timing="off")
    try:
        assert "No function has an outcome yet" in text_of(browser.get(f"/campaigns/{campaign}/matrix"))
        assert "No outcome here yet" in text_of(browser.get(f"/campaigns/{campaign}/functions/hazards/hazards.hang"))
    finally:
        coordinator.http.post(f"/campaigns/{campaign}/cancel")


def test_a_function_of_any_name_has_its_pages(
    browser: httpx.Client, coordinator: CoordinatorProcess, runner: RunnerProcess
) -> None:
    name = "hazards.<img src=x onerror=alert(1)>/?#&%2e " + "n" * 120
    execute(coordinator, "update cases set function = $1 where function = 'hazards.leave_by_os_exit'", name)
    campaign = coordinator.submit(name, timing="off")
    coordinator.wait_ended(campaign)
    matrix = browser.get(f"/campaigns/{campaign}/matrix")
    assert "<img src=x" not in matrix.text
    address = next(link for link in re.findall(r'href="(/campaigns/[^"#]*)"', matrix.text) if "/functions/" in link)
    for path in (unescape(address), unescape(address).replace(f"/campaigns/{campaign}/functions", "/history")):
        page = browser.get(path)
        assert page.status_code == 200, path
        assert name in unescape(page.text)
        assert "<img src=x" not in page.text


def test_a_build_does_not_pass_for_want_of_anything_to_compare(
    coordinator: CoordinatorProcess, campaign: int, later: int, tmp_path: Path
) -> None:
    """The stored revision is changed: the later campaign has another revision of the suite."""
    execute(
        coordinator,
        "with other as (insert into suites (name, framework, revision, digest) "
        "values ('hazards', 'hazards', 'other', '')"
        " returning id) update campaign_targets set suite_id = other.id from other where campaign_id = $1",
        later,
    )
    portolan = Portolan(tmp_path, PORTOLAN_URL=f"http://127.0.0.1:{coordinator.port}")
    process = portolan.call("compare", str(campaign), str(later), "--fail-on", "regression")
    assert process.returncode == 2
    assert "no case is known to be the same in both" in process.stdout
    assert "have no targets that can be compared" in process.stderr
