"""A process dies while a runner enrolls. Afterwards the runner is registered completely and once, or not at all, and
another attempt succeeds."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from tests.coordinator_process import CoordinatorProcess, free_port
from tests.enrolling_runner import EnrollingRunner, Relay, token_of
from tests.runner_process import RunnerProcess
from tests.short_times import SHORT_TIMES
from tests.waiting import LIMIT_S, until

KEY = "the-key-of-today-which-nobody-guesses"


@pytest.fixture
def secret_file(tmp_path: Path) -> Path:
    file = tmp_path / "enrolment"
    file.write_text(KEY)
    return file


@pytest.fixture
def coordinator(database: str, secret_file: Path) -> Iterator[CoordinatorProcess]:
    coordinator = CoordinatorProcess(database, times=SHORT_TIMES, PORTOLAN_ENROLMENT_KEY_FILE=str(secret_file))
    yield coordinator
    coordinator.stop()


@pytest.fixture
def enrolling(secret_file: Path) -> Iterator[Callable[..., EnrollingRunner]]:
    """Starts a runner that enrolls at this URL under this name."""
    runners: list[EnrollingRunner] = []

    def start(url: str, name: str, *options: str) -> EnrollingRunner:
        runner = EnrollingRunner(url, secret_file, name, *options)
        runners.append(runner)
        return runner

    yield start
    for runner in runners:
        runner.stop()


@pytest.fixture
def relay() -> Iterator[Callable[..., Relay]]:
    relays: list[Relay] = []

    def start(port: int, on_answer: Callable[[bytes], bool]) -> Relay:
        relays.append(Relay(port, on_answer))
        return relays[-1]

    yield start
    for link in relays:
        link.close()


def address(coordinator: CoordinatorProcess) -> str:
    return f"http://127.0.0.1:{coordinator.port}"


def runner_rows(coordinator: CoordinatorProcess) -> list[dict[str, Any]]:
    return list(coordinator.http.get("/runners").json()["runners"])


def wait_served(coordinator: CoordinatorProcess, runner: EnrollingRunner) -> None:
    """Wait until this runner is the only registered one, and finishes a job."""
    until(lambda: [runner_row["state"] for runner_row in runner_rows(coordinator)] == ["online"], "it is online")
    final_state = coordinator.wait_ended(coordinator.submit("hazards.add", runs=2))
    assert final_state["counters"]["done"] == final_state["counters"]["total"] > 0
    assert [runner_row["name"] for runner_row in runner_rows(coordinator)] == [runner.name]


def test_the_answer_is_lost(
    coordinator: CoordinatorProcess, enrolling: Callable[..., EnrollingRunner], relay: Callable[..., Relay]
) -> None:
    lost_pieces: list[bytes] = []

    def lose_the_first(piece: bytes) -> bool:
        lost_pieces.append(piece)
        return len(lost_pieces) > 1

    runner = enrolling(relay(coordinator.port, lose_the_first).url, "alpha")
    runner.wait_says("not enrolled yet")
    assert b"201 Created" in lost_pieces[0], "it was stored when the answer was lost"
    runner.wait_says("enrolled at")
    wait_served(coordinator, runner)


class KillAtFirst:
    """For a relay: kills the coordinator at the first piece, which is lost. Later pieces pass."""

    def __init__(self, coordinator: CoordinatorProcess) -> None:
        self.done = threading.Event()
        self._coordinator = coordinator

    def __call__(self, piece: bytes) -> bool:
        if self.done.is_set():
            return True
        self._coordinator.kill()
        self.done.set()
        return False


def test_the_coordinator_is_killed_before_its_answer_arrives(
    coordinator: CoordinatorProcess, enrolling: Callable[..., EnrollingRunner], relay: Callable[..., Relay]
) -> None:
    kill = KillAtFirst(coordinator)
    runner = enrolling(relay(coordinator.port, kill).url, "alpha")
    runner.wait_says("not enrolled yet")
    assert kill.done.wait(LIMIT_S)
    coordinator.start()
    assert len(runner_rows(coordinator)) == 1, "stored whole"
    runner.wait_says("enrolled at")
    wait_served(coordinator, runner)


def test_the_coordinator_is_killed_while_it_probes(
    coordinator: CoordinatorProcess, enrolling: Callable[..., EnrollingRunner], relay: Callable[..., Relay]
) -> None:
    kill = KillAtFirst(coordinator)
    port = free_port()
    between = relay(port, kill)
    runner = enrolling(address(coordinator), "alpha", "--port", str(port), "--advertise", between.url)
    runner.wait_says("not enrolled yet")
    assert kill.done.wait(LIMIT_S)
    coordinator.start()
    runner.wait_says("enrolled at")
    wait_served(coordinator, runner)
    assert runner_rows(coordinator)[0]["url"] == between.url


def test_the_runner_is_killed_between_the_probe_and_the_answer(
    coordinator: CoordinatorProcess, enrolling: Callable[..., EnrollingRunner], relay: Callable[..., Relay]
) -> None:
    runner: list[EnrollingRunner] = []
    restart_event = threading.Event()

    def kill_at_the_catalogue(piece: bytes) -> bool:
        if b'"suites"' in piece:
            restart_event.wait(30)
            runner[0].kill()
        return True

    port = free_port()
    between = relay(port, kill_at_the_catalogue)
    runner.append(enrolling(address(coordinator), "alpha", "--port", str(port), "--advertise", between.url))
    restart_event.set()
    until(lambda: runner[0].process.poll() is not None, "it was killed")
    until(
        lambda: [runner_row["state"] for runner_row in runner_rows(coordinator)] == ["offline"],
        "it is known, and offline",
    )
    (before,) = runner_rows(coordinator)
    again = enrolling(address(coordinator), "alpha")
    again.wait_says("enrolled at")
    wait_served(coordinator, again)
    assert runner_rows(coordinator)[0]["id"] == before["id"]


def test_a_runner_killed_in_mid_campaign_goes_on_elsewhere(
    coordinator: CoordinatorProcess, enrolling: Callable[..., EnrollingRunner]
) -> None:
    first = enrolling(address(coordinator), "alpha")
    until(lambda: runner_rows(coordinator), "it is enrolled")
    campaign = coordinator.submit("hazards.nap", "hazards.add", runs=6)
    coordinator.wait_done(campaign, 3)
    first.kill()
    again = enrolling(address(coordinator), "alpha")
    final_state = coordinator.wait_ended(campaign)
    assert final_state["counters"]["done"] == final_state["counters"]["total"] == len(coordinator.outcomes(campaign))
    (only,) = runner_rows(coordinator)
    assert urlsplit(only["url"]).port == urlsplit(again.ready["url"]).port


def test_two_processes_of_one_name_at_the_same_moment(
    coordinator: CoordinatorProcess, secret_file: Path, enrolling: Callable[..., EnrollingRunner]
) -> None:
    """The process that enrolls first stays. The other process ends with a line that gives the reason."""
    coordinator.kill()
    both = [enrolling(address(coordinator), "alpha") for _ in range(2)]
    for command in both:
        command.wait_says("not enrolled yet")
    coordinator.start()
    until(lambda: any(command.process.poll() is not None for command in both), "one of them ends")
    ended_runner, stays = sorted(both, key=lambda command: command.process.poll() is None)
    assert "alpha" in ended_runner.refused()
    assert stays.process.poll() is None
    wait_served(coordinator, stays)
    assert [runner_row["url"] for runner_row in runner_rows(coordinator)] == [stays.ready["url"]]


@pytest.mark.parametrize(
    ("names", "relays", "statuses"),
    [
        (("alpha", "alpha"), 2, [201, 409]),
        (("alpha", "beta"), 1, [201, 409]),
        (("alpha", "alpha"), 1, [200, 201]),
    ],
    ids=["one name at two addresses", "two names at one address", "one runner that asked twice"],
)
def test_requests_that_are_probed_at_the_same_moment(
    coordinator: CoordinatorProcess,
    relay: Callable[..., Relay],
    names: tuple[str, str],
    relays: int,
    statuses: list[int],
) -> None:
    """Each request saw no other runner when it was probed. One of them is stored first, and nothing is stored twice."""
    together, arrivals = threading.Barrier(2), itertools.count()

    def meet(piece: bytes) -> bool:
        if b'"suites"' in piece and next(arrivals) < 2:
            together.wait(30)
        return True

    runner = RunnerProcess(PORTOLAN_RUNNER_SECRET="provisional")
    try:
        port = urlsplit(runner.ready["url"]).port
        urls = [relay(port, meet).url for _ in range(relays)]

        def ask(number: int) -> httpx.Response:
            return httpx.post(
                f"{address(coordinator)}/api/v1/runners/enrol",
                json={"name": names[number], "url": urls[number % relays], "secret": "provisional"},
                headers={"Authorization": f"Bearer {token_of(KEY, names[number])}"},
                timeout=120,
            )

        with ThreadPoolExecutor(2) as pool:
            answers = list(pool.map(ask, range(2)))
    finally:
        runner.stop()
    assert sorted(answer.status_code for answer in answers) == statuses, [answer.text for answer in answers]
    refusals = [answer.json()["detail"] for answer in answers if answer.is_error]
    assert all("at the same moment" in refusal for refusal in refusals)
    (only,) = runner_rows(coordinator)
    assert only["id"] in [answer.json()["runner"]["id"] for answer in answers if answer.is_success]
