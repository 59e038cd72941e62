"""Pages of runners: a form that checks and registers a runner, the runner's page, and removing the runner."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.acceptance.test_registration import answering
from tests.acceptance.web.visitor import Visitor, beside, form_token, text
from tests.coordinator_process import CoordinatorProcess, free_port
from tests.faults.conformance.toy import SECRET as TOY_SECRET
from tests.faults.conformance.toy import Toy, served_beside
from tests.runner_process import RunnerProcess
from tests.waiting import until


@pytest.fixture
def stranger() -> Iterator[RunnerProcess]:
    """A runner of the hazards that is not registered."""
    runner = RunnerProcess()
    yield runner
    runner.stop()


@pytest.fixture(autouse=True)
def nobody_stays(coordinator: CoordinatorProcess) -> Iterator[None]:
    """Every test begins without a registered runner, however the previous test ended."""
    yield
    coordinator.remove_all_runners()


def addresses(coordinator: CoordinatorProcess) -> set[str]:
    return {runner["url"] for runner in coordinator.http.get("/runners").json()["runners"]}


def test_no_runner_yet_is_a_page_that_helps(visitor: Visitor) -> None:
    assert "No runner is registered yet." in text(visitor.read("/runners"))


def test_a_runner_is_checked_then_registered_then_used_then_removed(
    visitor: Visitor, coordinator: CoordinatorProcess, stranger: RunnerProcess
) -> None:
    url, secret = stranger.ready["url"], stranger.ready["secret"]
    answer = visitor.send("/runners/new", {"url": url, "secret": secret})
    assert answer.status_code == 200
    page_text = text(answer.text)
    assert "jobs.runs" in page_text
    assert "Registered" in page_text, page_text
    assert secret not in answer.text
    assert addresses(coordinator) == {url}

    coordinator.wait_ended(coordinator.submit("hazards.add", runs=1))
    (line,) = visitor.data("/runners")
    runner = f"/runners/{line['runner']['id']}"
    page = visitor.read(runner)
    assert "hazards.add/wrong" in text(page)
    assert "the host" in text(visitor.read("/runners"))

    assert "from the list of runners" in text(visitor.read(f"{runner}/remove"))
    assert visitor.send(f"{runner}/remove", {}, **{"Sec-Fetch-Site": "cross-site"}).status_code == 403
    assert addresses(coordinator) == {url}
    assert visitor.send(f"{runner}/remove", {}).status_code == 303
    assert addresses(coordinator) == set()
    visitor.read(runner, 404)


def test_a_runner_at_work_is_not_disturbed_by_registering_it_again(
    visitor: Visitor, coordinator: CoordinatorProcess, stranger: RunnerProcess
) -> None:
    url, secret = stranger.ready["url"], stranger.ready["secret"]
    assert coordinator.register(url, secret).status_code == 201
    campaign = coordinator.submit("hazards.nap", "hazards.add", runs=10)
    until(lambda: coordinator.campaign(campaign)["counters"]["done"], "the campaign is at work")
    for address in (url, url.replace("127.0.0.1", "localhost")):
        answer = visitor.send("/runners/new", {"url": address, "secret": secret})
        assert answer.status_code == 303
        page = text(visitor.read(answer.headers["location"]))
        assert "already registered" in page
    (runner,) = coordinator.http.get("/runners").json()["runners"]
    assert runner["url"] == url
    counters = coordinator.wait_ended(campaign)["counters"]
    assert (counters["done"], counters["incomplete"]) == (50, 0), "no event was lost"


def test_what_a_runner_has_and_what_waits_for_it_is_shown(
    visitor: Visitor, coordinator: CoordinatorProcess, stranger: RunnerProcess
) -> None:
    runner = coordinator.register(stranger.ready["url"], stranger.ready["secret"]).json()["id"]
    campaign = coordinator.submit("hazards.hang", runs=100)

    def all_are_somewhere() -> bool:
        (line,) = visitor.data("/runners")
        return bool(line["waiting"] > 0 and line["waiting"] + line["runner"]["in_flight"] == 300)

    until(all_are_somewhere, "each of the 300 jobs is in flight or waits")
    page = f"/runners/{runner}"

    def one_runs() -> bool:
        return any(job["state"] == "running" for job in visitor.data(page)["work"]["in_flight"])

    until(one_runs, "one runs")
    assert "hazards.hang/0" in text(visitor.read(page))
    coordinator.http.post(f"/campaigns/{campaign}/cancel")


@pytest.mark.parametrize(
    ("url", "secret", "field", "message"),
    [
        ("gpu-box:8790", "", "url", "must begin with http://"),
        ("http://", "", "url", "must begin with http://"),
        ("http://127.0.0.1:{free}", "", "url", "check that it is running"),
        ("{runner}", "another secret", "secret", "refused the secret"),
        ("{runner}", "gehëim", "secret", "refused the secret"),
        ("{runner}", "two\nlines", "secret", "one line"),
    ],
)
def test_a_mistake_stands_beside_its_field_and_nothing_is_stored(
    visitor: Visitor,
    coordinator: CoordinatorProcess,
    stranger: RunnerProcess,
    url: str,
    secret: str,
    field: str,
    message: str,
) -> None:
    typed_url = url.format(free=free_port(), runner=stranger.ready["url"])
    answer = visitor.send("/runners/new", {"url": typed_url, "secret": secret})
    assert answer.status_code == 422
    assert message in beside(answer.text, field)
    assert f'value="{typed_url}"' in answer.text
    assert not secret or secret not in answer.text
    assert addresses(coordinator) == set()


def test_what_is_no_runner_is_said_beside_its_address(visitor: Visitor) -> None:
    with answering(b"<html>a web page</html>") as url:
        answer = visitor.send("/runners/new", {"url": url, "secret": "x"})
    assert answer.status_code == 422
    assert "is not a runner" in beside(answer.text, "url")


def test_a_runner_with_bearable_faults_joins_only_if_that_is_said(
    visitor: Visitor, coordinator: CoordinatorProcess
) -> None:
    with served_beside(Toy("answers errors as plain JSON")) as url:
        form = {"url": url, "secret": TOY_SECRET}
        page_text = text(visitor.send("/runners/new", form).text)
        assert "Not registered" in page_text
        assert "The runner breaks 1 promise that outcomes do not depend on" in page_text
        assert addresses(coordinator) == set()
        assert "See the runner" in text(visitor.send("/runners/new", {**form, "anyway": "yes"}).text)
        assert addresses(coordinator) == {url}


def test_a_runner_that_would_lose_outcomes_is_refused_whatever_is_said(
    visitor: Visitor, coordinator: CoordinatorProcess
) -> None:
    with served_beside(Toy("skips a number")) as url:
        page_text = text(visitor.send("/runners/new", {"url": url, "secret": TOY_SECRET, "anyway": "yes"}).text)
    assert "Not registered" in page_text
    assert "events.numbered" in page_text
    assert addresses(coordinator) == set()


def test_leaving_the_page_ends_the_check_and_leaves_the_runner_as_it_was(
    visitor: Visitor, coordinator: CoordinatorProcess, stranger: RunnerProcess
) -> None:
    form = {"url": stranger.ready["url"], "secret": stranger.ready["secret"]}
    own = {"form_token": form_token(visitor.http)}
    with visitor.http.stream("POST", "/runners/new", data={**own, **form}) as answer:
        assert any("access.secret" in piece for piece in answer.iter_text())
    assert addresses(coordinator) == set(), "nobody waited for the end"
    until(lambda: "Registered" in text(visitor.send("/runners/new", form).text), "the runner is free again")


def test_an_unknown_runner_is_a_page_that_helps(visitor: Visitor) -> None:
    for path in ("/runners/987654", "/runners/987654/remove"):
        assert "there is no runner 987654" in text(visitor.read(path, 404))
