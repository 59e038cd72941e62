"""The cases of a revision never change: a runner with other cases under the same revision is refused with the
differences, and nothing changes."""

from __future__ import annotations

import html
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from tests.acceptance.web.visitor import form_token
from tests.admin import ADMIN_TOKEN, AS_ADMIN
from tests.coordinator_process import CoordinatorProcess
from tests.faults.registration.listing_runner import Case, cases
from tests.faults.registration.runner_launcher import RunnerLauncher
from tests.runner_process import ROOT
from tests.short_times import SHORT_TIMES
from tests.waiting import until

SHOWN_WITHIN_S = 20.0
"""Seconds before a quarantine, which is for runners that do not respond for 30 s."""
STORED = cases("listed.cat", "listed.dot", "listed.sum")
CHANGED = [{**STORED[0], "function": "listed.mean"}, STORED[1], *cases("listed.max")]


def difference(place: RunnerLauncher) -> str:
    return (
        f"'paper' of {place.framework} differs from the suite stored under its revision 1: "
        "1 case changed (listed.cat/0: function listed.cat → listed.mean), 1 case added (listed.max/0), "
        "1 case removed (listed.sum/0). Give the changed suite a new revision"
    )


def assert_refused(place: RunnerLauncher, answer: httpx.Response) -> None:
    assert answer.status_code == 409, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert difference(place) in answer.json()["detail"]


def test_another_runner_with_other_content_is_refused_and_the_chart_stays(place: RunnerLauncher) -> None:
    place.register_or_fail(place.start(STORED))
    campaign = place.run()
    cells, runners, catalogue = place.cells(campaign), place.runner_rows(), place.catalogue_suites()
    assert ("listed.cat", "listed.cat/0") in cells
    other = place.start(CHANGED, hardware="another")
    assert_refused(place, place.register(other))
    assert_refused(place, place.enrol(other, "another"))
    assert place.cells(campaign) == cells
    assert place.runner_rows() == runners
    assert place.catalogue_suites() == catalogue
    other.restart(CHANGED, revision="2")
    place.register_or_fail(other)
    assert place.cells(campaign) == cells


def test_as_many_cases_and_other_ones(place: RunnerLauncher) -> None:
    """The numbers of cases are equal, so a comparison of counts would not show the difference."""
    place.register_or_fail(place.start(STORED))
    other_cases = [*STORED[:2], {**STORED[2], "function": "listed.prod"}]
    answer = place.register(place.start(other_cases))
    assert answer.status_code == 409, answer.text
    assert "1 case changed (listed.sum/0: function listed.sum → listed.prod)" in answer.json()["detail"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"host_only": "no array"}, "host_only none → 'no array'"),
        ({"tags": ["slow"]}, "tags none → slow"),
    ],
)
def test_all_that_is_said_of_a_case_is_content(place: RunnerLauncher, change: Case, words: str) -> None:
    place.register_or_fail(place.start(STORED))
    answer = place.register(place.start([{**STORED[0], **change}, *STORED[1:]]))
    assert answer.status_code == 409, answer.text
    assert f"1 case changed (listed.cat/0: {words})" in answer.json()["detail"]


def test_the_order_of_cases_and_of_their_tags_is_the_runners_own(place: RunnerLauncher) -> None:
    tagged_cases = [{**case, "tags": ["one", "two"]} for case in STORED]
    place.register_or_fail(place.start(tagged_cases))
    catalogue = place.catalogue_suites()
    place.register_or_fail(place.start([{**case, "tags": ["two", "one"]} for case in reversed(tagged_cases)]))
    assert place.catalogue_suites() == catalogue


def test_a_runner_that_restarts_with_other_content_is_offline_for_that_reason_until_it_is_right_again(
    place: RunnerLauncher,
) -> None:
    runner = place.start(STORED)
    runner_id = place.register_or_fail(runner)["id"]
    campaign = place.run()
    cells = place.cells(campaign)
    runner.restart(CHANGED)

    def look() -> dict[str, Any]:
        return dict(place.coordinator.http.get(f"/runners/{runner_id}").json())

    def is_refused() -> bool:
        now = look()
        return now["state"] == "offline" and difference(place) in now["reason"]

    until(is_refused, "it is offline, and the difference is the reason", SHOWN_WITHIN_S)
    assert place.cells(campaign) == cells
    # It is asked again, and not as fast as it answers.
    probes_before, since = runner.probes, time.monotonic()
    until(lambda: runner.probes >= probes_before + 4, "it is asked again")
    assert time.monotonic() - since > 0.5
    assert runner.events == [], "it was given nothing to do"
    assert_refused(place, place.register(runner))
    assert place.coordinator.http.get("/campaigns").is_success
    runner.restart(STORED)
    until(lambda: look()["state"] == "online", "it is online again")
    assert place.cells(place.run()) == cells


def test_a_restart_under_another_revision_is_followed(place: RunnerLauncher) -> None:
    runner = place.start(STORED)
    runner_id = place.register_or_fail(runner)["id"]
    campaign = place.run()
    cells = place.cells(campaign)
    runner.restart(CHANGED, revision="2")
    until(
        lambda: place.coordinator.http.get(f"/runners/{runner_id}").json()["suites"] == {"paper": "2"},
        "the registration follows",
    )
    assert ("listed.mean", "listed.cat/0") in place.cells(place.run())
    assert place.cells(campaign) == cells


def test_an_enrolled_runner_that_comes_again_with_other_content_keeps_its_registration(place: RunnerLauncher) -> None:
    runner = place.start(STORED)
    assert place.enrol(runner, "alpha").status_code == 201
    rows_before = place.runner_rows()
    moved_runner = place.start(CHANGED)
    runner.stop()
    assert_refused(place, place.enrol(moved_runner, "alpha"))
    (now,) = place.runner_rows()
    assert (now["id"], now["url"], now["suites"]) == (rows_before[0]["id"], runner.url, {"paper": "1"})


def test_a_case_or_a_suite_listed_twice_is_refused_and_so_is_what_no_database_takes(place: RunnerLauncher) -> None:
    doubled_runner = place.start([*STORED, {**STORED[0], "function": "listed.mean"}])
    twice = place.start(STORED)
    twice.catalogue["suites"].append({**twice.catalogue["suites"][0], "revision": "2"})
    odd = place.start([*STORED, {"id": "nul/0", "function": "a\0b"}])
    for runner, words in (
        (doubled_runner, "'paper' has two cases 'listed.cat/0'"),
        (twice, "lists the suite 'paper' twice"),
        (odd, "must not contain NUL"),
    ):
        answer = place.register(runner)
        assert answer.status_code == 502, answer.text
        assert words in answer.json()["detail"]
        answer = place.enrol(runner, "alpha")
        assert answer.status_code == 422, answer.text
        assert words in answer.json()["detail"]
    assert place.runner_rows() == []
    place.register_or_fail(place.start(STORED))


def test_who_registers_first_of_many_at_once_says_what_the_revision_is(place: RunnerLauncher, dsn: str) -> None:
    """The runners register through two coordinators. Nobody waits forever, and only one content is stored."""
    other = CoordinatorProcess(dsn, times=SHORT_TIMES)
    try:
        runners = [place.start(CHANGED if number % 2 else STORED, hardware=f"h{number}") for number in range(8)]

        def send(number: int) -> int:
            return (place.coordinator, other)[number // 2 % 2].register(runners[number].url, "").status_code

        with ThreadPoolExecutor(8) as pool:
            codes = list(pool.map(send, range(8)))
        assert sorted(codes) == [201] * 4 + [409] * 4, codes
        assert len({number % 2 for number, code in enumerate(codes) if code == 201}) == 1, codes
        assert len(place.runner_rows()) == 4
    finally:
        other.stop()


def test_the_command_line_says_it_in_one_line(place: RunnerLauncher) -> None:
    place.register_or_fail(place.start(STORED))
    other = place.start(CHANGED)
    process = subprocess.run(
        [
            *(sys.executable, "-m", "coordinator", "runner", "register", other.url),
            *("--url", f"http://127.0.0.1:{place.coordinator.port}"),
        ],
        env={**os.environ, "PORTOLAN_TOKEN": ADMIN_TOKEN},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert process.returncode == 2
    assert process.stdout == ""
    (line,) = process.stderr.splitlines()
    assert difference(place) in line


def test_the_page_says_it_beside_the_address(place: RunnerLauncher) -> None:
    runner = place.start(STORED)
    place.register_or_fail(runner)
    runner.restart(CHANGED)
    with httpx.Client(base_url=place.coordinator.url, timeout=120, headers=AS_ADMIN) as reader:
        fields = {"url": runner.url, "secret": "", "form_token": form_token(reader)}
        answer = reader.post("/runners/new", data=fields)
    assert answer.status_code == 422
    assert difference(place) in html.unescape(answer.text)
