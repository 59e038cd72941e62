"""A revision keeps its cases: who brings others under it is refused with the difference, and nothing changes."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from tests.coordinator_process import CoordinatorProcess
from tests.faults.registration.conftest import ENROLMENT_SECRET
from tests.faults.registration.listing_runner import FRAMEWORK, Case, ListingRunner, cases
from tests.runner_process import ROOT, until

Start = Callable[..., ListingRunner]

STORED = cases("listed.cat", "listed.dot", "listed.sum")
CHANGED = [{**STORED[0], "function": "listed.mean"}, STORED[1], *cases("listed.max")]
DIFFERENCE = (
    f"'paper' of {FRAMEWORK} is another one than is stored under its revision 1: "
    "1 case changed (listed.cat/0: function listed.cat → listed.mean), 1 case added (listed.max/0), "
    "1 case removed (listed.sum/0); a revision keeps its cases, so give the changed suite another revision"
)


def register(coordinator: CoordinatorProcess, runner: ListingRunner) -> httpx.Response:
    return coordinator.register(runner.url, "")


def registered(coordinator: CoordinatorProcess, runner: ListingRunner) -> dict[str, Any]:
    answer = register(coordinator, runner)
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


def enrol(coordinator: CoordinatorProcess, runner: ListingRunner, name: str) -> httpx.Response:
    return coordinator.http.post(
        "/runners/enrol",
        json={"name": name, "url": runner.url, "secret": "p" * 32},
        headers={"Authorization": f"Bearer {ENROLMENT_SECRET}"},
    )


def run(coordinator: CoordinatorProcess) -> int:
    campaign = coordinator.submit(suite="paper", functions=["*"], targets=[f"{FRAMEWORK}/cpu"])
    ended = coordinator.wait_ended(campaign)
    assert ended["counters"]["passed"] == ended["counters"]["total"]
    return campaign


def cells(coordinator: CoordinatorProcess, campaign: int) -> list[tuple[str, str]]:
    """Function and case of each outcome, as the chart shows them now."""
    return sorted((row["function"], row["case"]) for row in coordinator.outcomes(campaign))


def shown(coordinator: CoordinatorProcess) -> list[dict[str, Any]]:
    """The runners, without what goes on changing."""
    runners = coordinator.http.get("/runners").json()["runners"]
    return [{key: value for key, value in runner.items() if key != "last_seen"} for runner in runners]


def offered(coordinator: CoordinatorProcess) -> Any:
    return coordinator.http.get("/catalogue").json()["suites"]


def assert_refused(answer: httpx.Response) -> None:
    assert answer.status_code == 409, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert DIFFERENCE in answer.json()["detail"]


def test_another_runner_with_other_content_is_refused_and_the_chart_stays(
    coordinator: CoordinatorProcess, listing: Start
) -> None:
    registered(coordinator, listing(STORED))
    campaign = run(coordinator)
    charted, listed, catalogue = cells(coordinator, campaign), shown(coordinator), offered(coordinator)
    assert ("listed.cat", "listed.cat/0") in charted
    other = listing(CHANGED, hardware="another")
    assert_refused(register(coordinator, other))
    assert_refused(enrol(coordinator, other, "another"))
    assert cells(coordinator, campaign) == charted
    assert shown(coordinator) == listed
    assert offered(coordinator) == catalogue
    other.restart(CHANGED, revision="2")
    registered(coordinator, other)
    assert cells(coordinator, campaign) == charted


def test_as_many_cases_and_other_ones(coordinator: CoordinatorProcess, listing: Start) -> None:
    """A count of cases tells nothing."""
    registered(coordinator, listing(STORED))
    swapped = [*STORED[:2], {**STORED[2], "function": "listed.prod"}]
    answer = register(coordinator, listing(swapped))
    assert answer.status_code == 409, answer.text
    assert "1 case changed (listed.sum/0: function listed.sum → listed.prod); " in answer.json()["detail"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"host_only": "no array"}, "host_only none → 'no array'"),
        ({"tags": ["slow"]}, "tags none → slow"),
    ],
)
def test_all_that_is_said_of_a_case_is_content(
    coordinator: CoordinatorProcess, listing: Start, change: Case, words: str
) -> None:
    registered(coordinator, listing(STORED))
    answer = register(coordinator, listing([{**STORED[0], **change}, *STORED[1:]]))
    assert answer.status_code == 409, answer.text
    assert f"1 case changed (listed.cat/0: {words})" in answer.json()["detail"]


def test_the_order_of_cases_and_of_their_tags_is_the_runners_own(
    coordinator: CoordinatorProcess, listing: Start
) -> None:
    tagged = [{**case, "tags": ["one", "two"]} for case in STORED]
    registered(coordinator, listing(tagged))
    catalogue = offered(coordinator)
    registered(coordinator, listing([{**case, "tags": ["two", "one"]} for case in reversed(tagged)]))
    assert offered(coordinator) == catalogue


def test_a_runner_that_restarts_with_other_content_is_offline_for_that_reason_until_it_is_right_again(
    coordinator: CoordinatorProcess, listing: Start
) -> None:
    runner = listing(STORED)
    runner_id = registered(coordinator, runner)["id"]
    campaign = run(coordinator)
    charted = cells(coordinator, campaign)
    runner.restart(CHANGED)

    def look() -> dict[str, Any]:
        return dict(coordinator.http.get(f"/runners/{runner_id}").json())

    def refused() -> bool:
        now = look()
        return now["state"] == "offline" and DIFFERENCE in now["reason"]

    until(refused, "it is offline, and the difference is the reason")
    assert cells(coordinator, campaign) == charted
    # It is asked again, and not as fast as it answers.
    asked, since = runner.probes, time.monotonic()
    until(lambda: runner.probes >= asked + 4, "it is asked again")
    assert time.monotonic() - since > 0.5
    assert runner.events == [], "it was given nothing to do"
    assert_refused(register(coordinator, runner))
    assert coordinator.http.get("/campaigns").is_success
    runner.restart(STORED)
    until(lambda: look()["state"] == "online", "it is online again")
    assert cells(coordinator, run(coordinator)) == charted


def test_a_restart_under_another_revision_is_followed(coordinator: CoordinatorProcess, listing: Start) -> None:
    runner = listing(STORED)
    runner_id = registered(coordinator, runner)["id"]
    campaign = run(coordinator)
    charted = cells(coordinator, campaign)
    runner.restart(CHANGED, revision="2")
    until(
        lambda: coordinator.http.get(f"/runners/{runner_id}").json()["suites"] == {"paper": "2"},
        "the registration follows",
    )
    assert ("listed.mean", "listed.cat/0") in cells(coordinator, run(coordinator))
    assert cells(coordinator, campaign) == charted


def test_an_enrolled_runner_that_comes_again_with_other_content_keeps_its_registration(
    coordinator: CoordinatorProcess, listing: Start
) -> None:
    runner = listing(STORED)
    assert enrol(coordinator, runner, "alpha").status_code == 201
    listed = shown(coordinator)
    moved = listing(CHANGED)
    runner.stop()
    assert_refused(enrol(coordinator, moved, "alpha"))
    (now,) = shown(coordinator)
    assert (now["id"], now["url"], now["suites"]) == (listed[0]["id"], runner.url, {"paper": "1"})


def test_a_case_or_a_suite_listed_twice_is_refused(coordinator: CoordinatorProcess, listing: Start) -> None:
    doubled = listing([*STORED, {**STORED[0], "function": "listed.mean"}])
    twice = listing(STORED)
    twice.catalogue["suites"].append({**twice.catalogue["suites"][0], "revision": "2"})
    for runner, words in ((doubled, "'paper' has two cases 'listed.cat/0'"), (twice, "lists the suite 'paper' twice")):
        answer = register(coordinator, runner)
        assert answer.status_code == 502, answer.text
        assert words in answer.json()["detail"]
        answer = enrol(coordinator, runner, "alpha")
        assert answer.status_code == 422, answer.text
        assert words in answer.json()["detail"]
    assert shown(coordinator) == []
    registered(coordinator, listing(STORED))


def test_who_registers_first_of_many_at_once_says_what_the_revision_is(
    coordinator: CoordinatorProcess, listing: Start, database: str
) -> None:
    """Through two coordinators: nobody waits for ever, and no two contents get in."""
    other = CoordinatorProcess(database)
    try:
        runners = [listing(CHANGED if number % 2 else STORED, hardware=f"h{number}") for number in range(8)]

        def send(number: int) -> int:
            return register((coordinator, other)[number // 2 % 2], runners[number]).status_code

        with ThreadPoolExecutor(8) as pool:
            codes = list(pool.map(send, range(8)))
        assert sorted(codes) == [201] * 4 + [409] * 4, codes
        assert len({number % 2 for number, code in enumerate(codes) if code == 201}) == 1, codes
        assert len(shown(coordinator)) == 4
    finally:
        other.stop()


def test_the_command_line_says_it_in_one_line(coordinator: CoordinatorProcess, listing: Start) -> None:
    registered(coordinator, listing(STORED))
    other = listing(CHANGED)
    done = subprocess.run(
        [
            *(sys.executable, "-m", "coordinator", "runner", "register", other.url),
            *("--url", f"http://127.0.0.1:{coordinator.port}"),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 2
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert DIFFERENCE in line
