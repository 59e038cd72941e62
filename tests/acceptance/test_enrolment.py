"""Runners enroll themselves. The tests check the runner's new secret, and the message of each refusal."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from protocol.enrolment import NAME
from tests.acceptance.conftest import SECRET
from tests.coordinator_process import CoordinatorProcess, free_port
from tests.enrolling_runner import EnrollingRunner, token_of
from tests.portolan_process import Portolan
from tests.runner_process import RunnerProcess
from tests.waiting import until

ENROLMENT = "the-key-of-today-which-nobody-guesses"
PAGE = (Path(__file__).parents[2] / "docs/how-to/join-a-fleet.md").read_text()


@pytest.fixture(scope="module")
def one_coordinator(
    new_database: Callable[..., str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[CoordinatorProcess]:
    file = tmp_path_factory.mktemp("secrets") / "enrolment"
    file.write_text(ENROLMENT)
    coordinator = CoordinatorProcess(new_database(), PORTOLAN_ENROLMENT_KEY_FILE=str(file))
    yield coordinator
    coordinator.stop()


@pytest.fixture
def secret_file(one_coordinator: CoordinatorProcess) -> Path:
    """The file with the coordinator's enrollment key, as it was at the coordinator's start."""
    file = Path(one_coordinator.variables["PORTOLAN_ENROLMENT_KEY_FILE"])
    file.write_text(f"{ENROLMENT}\n")
    return file


@pytest.fixture
def coordinator(one_coordinator: CoordinatorProcess, secret_file: Path) -> CoordinatorProcess:
    """A coordinator without runners."""
    one_coordinator.remove_all_runners()
    return one_coordinator


@pytest.fixture
def enrolling(coordinator: CoordinatorProcess, secret_file: Path) -> Iterator[Callable[..., EnrollingRunner]]:
    """Starts a runner with this name, which enrolls itself."""
    runners: list[EnrollingRunner] = []

    def start(name: str, *options: str, secret: Path = secret_file) -> EnrollingRunner:
        runner = EnrollingRunner(f"http://127.0.0.1:{coordinator.port}", secret, name, *options)
        runners.append(runner)
        return runner

    yield start
    for runner in runners:
        runner.stop()


@pytest.fixture(scope="module")
def known_runner() -> Iterator[RunnerProcess]:
    """A registered runner whose secret the tests know. Another runner tries to enroll under its name."""
    runner = RunnerProcess(PORTOLAN_RUNNER_SECRET=SECRET.replace(" ", "-"))
    yield runner
    runner.stop()


def post(coordinator: CoordinatorProcess, body: Any, secret: str = ENROLMENT) -> httpx.Response:
    """Send an enrollment request with the token that the key gives for this name."""
    name = body["name"] if re.fullmatch(NAME, str(body["name"])) else "alpha"
    headers = {"Authorization": f"Bearer {token_of(secret, name)}"} if secret else {}
    return coordinator.http.post("/runners/enrol", json=body, headers=headers)


def body(runner: RunnerProcess, **fields: Any) -> dict[str, Any]:
    return {"name": "alpha", "url": runner.ready["url"], "secret": SECRET.replace(" ", "-")} | fields


def runner_rows(coordinator: CoordinatorProcess) -> list[dict[str, Any]]:
    return list(coordinator.http.get("/runners").json()["runners"])


def wait_online(coordinator: CoordinatorProcess, *names: str) -> list[dict[str, Any]]:
    def online() -> bool:
        return sorted(
            runner_row["name"] for runner_row in runner_rows(coordinator) if runner_row["state"] == "online"
        ) == sorted(names)

    until(online, f"{names} are online")
    return runner_rows(coordinator)


def complaint(answer: httpx.Response, status: int) -> str:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    return str(answer.json()["detail"])


def test_a_runner_that_enrols_serves_a_campaign(
    coordinator: CoordinatorProcess, enrolling: Callable[..., EnrollingRunner], place: Path
) -> None:
    shown_line = re.search(r"^```text\n(portolan-runner: .+)$", PAGE, re.MULTILINE)
    assert shown_line is not None
    url = f"http://127.0.0.1:{coordinator.port}"
    runner = enrolling("alpha")
    runner.wait_says(shown_line[1].replace("http://box:8643", url).replace("lab3-torch-cuda", "alpha"))
    assert "secret" not in runner.ready
    assert runner.ready["name"] == "alpha"
    assert [runner_row["url"] for runner_row in runner_rows(coordinator)] == [runner.ready["url"]]
    final_state = coordinator.wait_ended(coordinator.submit("hazards.add", runs=2))
    assert final_state["counters"]["done"] == final_state["counters"]["total"] > 0
    output = Portolan(place, PORTOLAN_URL=url).ask("runner", "list")
    assert "alpha" in output


def test_its_secret_is_its_own_and_the_provisional_one_is_void(
    coordinator: CoordinatorProcess, known_runner: RunnerProcess
) -> None:
    answer = post(coordinator, body(known_runner))
    assert answer.status_code == 201, answer.text
    new_secret = answer.json()["secret"]
    assert new_secret not in (ENROLMENT, SECRET)
    assert len(new_secret) >= 32
    assert new_secret not in coordinator.http.get("/runners").text
    again = post(coordinator, body(known_runner))
    assert again.status_code == 200
    assert again.json()["runner"]["id"] == answer.json()["runner"]["id"]
    assert again.json()["secret"] != new_secret


def test_the_audit_names_the_runner_that_enrolled(
    coordinator: CoordinatorProcess, known_runner: RunnerProcess, place: Path
) -> None:
    """If the token is wrong, the audit entry has no name. If the token is right, the entry of a refusal has the token's
    name."""

    def find_entry(status: int, who: str) -> dict[str, Any] | None:
        """Return the newest matching entry of the audit. An entry is written after the response, so the newest entry of
        all may belong to an earlier request."""
        entries = coordinator.http.get("/audit", params={"limit": 1000, "who": who}).json()["entries"]
        enrolments = (entry for entry in entries if entry["path"] == "/api/v1/runners/enrol")
        return next((entry for entry in enrolments if entry["status"] == status), None)

    replica = {"Authorization": f"Bearer {token_of(ENROLMENT, 'replica-+-of-it')}"}
    answer = coordinator.http.post("/runners/enrol", json=body(known_runner, name="replica-7-of-it"), headers=replica)
    assert answer.status_code == 201, answer.text
    entry = until(lambda: find_entry(201, "replica-7-of-it"), "the enrolment is recorded")
    assert (entry["kind"], entry["role"]) == ("runner", None)
    refusal = coordinator.http.post("/runners/enrol", json=body(known_runner, name="another"), headers=replica)
    assert refusal.status_code == 403
    until(lambda: find_entry(403, "replica-+-of-it"), "the refusal is recorded")
    assert post(coordinator, body(known_runner), "a-key-of-somebody-else-of-32-letters").status_code == 401
    until(lambda: find_entry(401, "anonymous"), "it is recorded too")
    output = Portolan(place, PORTOLAN_URL=coordinator.url).ask("audit", "--limit", "1000")
    assert "replica-7-of-it, runner" in output
    assert "replica-7-of-it, runner" in coordinator.page("/audit")


def test_a_runner_may_be_there_before_its_coordinator(
    coordinator: CoordinatorProcess, enrolling: Callable[..., EnrollingRunner]
) -> None:
    coordinator.kill()
    runner = enrolling("alpha")
    runner.wait_says("not enrolled yet: the coordinator at")
    coordinator.start()
    runner.wait_says("enrolled at")
    assert len(runner.lines) == 2, "one line a change, not one a try"
    wait_online(coordinator, "alpha")


def test_a_runner_that_comes_back_elsewhere_is_the_same_runner(
    coordinator: CoordinatorProcess, enrolling: Callable[..., EnrollingRunner]
) -> None:
    first = enrolling("alpha")
    (before,) = wait_online(coordinator, "alpha")
    first.kill()
    again = enrolling("alpha")
    again.wait_says("enrolled at")
    (after,) = wait_online(coordinator, "alpha")
    assert (after["id"], after["url"]) == (before["id"], again.ready["url"])
    assert after["url"] != before["url"]


def test_a_name_in_use_is_refused_while_its_runner_is_alive(
    coordinator: CoordinatorProcess, enrolling: Callable[..., EnrollingRunner]
) -> None:
    first = enrolling("alpha")
    (before,) = wait_online(coordinator, "alpha")
    assert "the name alpha belongs to the runner at" in enrolling("alpha").refused()
    (after,) = wait_online(coordinator, "alpha")
    assert after["url"] == before["url"] == first.ready["url"]


def test_a_url_that_another_runner_has_now_leaves_the_chart(
    coordinator: CoordinatorProcess, enrolling: Callable[..., EnrollingRunner]
) -> None:
    port = str(free_port())
    first = enrolling("alpha", "--port", port)
    wait_online(coordinator, "alpha")
    first.kill()
    enrolling("beta", "--port", port)
    (only,) = wait_online(coordinator, "beta")
    assert only["url"] == first.ready["url"]


def test_a_runner_that_was_registered_by_its_url_gets_its_name(
    coordinator: CoordinatorProcess, known_runner: RunnerProcess
) -> None:
    registration = coordinator.register(known_runner.ready["url"], SECRET.replace(" ", "-")).json()
    assert registration["name"] is None
    enrolment = post(coordinator, body(known_runner))
    assert enrolment.status_code == 200
    assert (enrolment.json()["runner"]["id"], enrolment.json()["runner"]["name"]) == (registration["id"], "alpha")


def test_a_removed_runner_does_not_come_back_by_itself(
    coordinator: CoordinatorProcess, enrolling: Callable[..., EnrollingRunner]
) -> None:
    runner = enrolling("alpha")
    (before,) = wait_online(coordinator, "alpha")
    coordinator.wait_ended(coordinator.submit("hazards.add"))  # it has spoken with its own secret
    assert coordinator.http.delete(f"/runners/{before['id']}").status_code == 204
    coordinator.kill()
    coordinator.start()
    assert runner_rows(coordinator) == []
    runner.stop()
    enrolling("alpha")
    (after,) = wait_online(coordinator, "alpha")
    assert after["id"] != before["id"], "started again, it is a new registration"


@pytest.mark.parametrize("secret", ["", "yesterdays", "x" * 4000, "\u00e9"])
def test_a_wrong_enrolment_secret(coordinator: CoordinatorProcess, known_runner: RunnerProcess, secret: str) -> None:
    headers = {b"Authorization": b"Bearer " + secret.encode()} if secret else {}
    answer = coordinator.http.post("/runners/enrol", json=body(known_runner), headers=headers)
    assert "the enrolment token is missing or wrong" in complaint(answer, 401)
    assert answer.headers["www-authenticate"] == 'Bearer realm="portolan"'
    assert runner_rows(coordinator) == []


def test_a_runner_with_a_stale_enrolment_secret_ends_with_a_line(
    coordinator: CoordinatorProcess,
    enrolling: Callable[..., EnrollingRunner],
    secret_file: Path,
    tmp_path: Path,
) -> None:
    enrolling("alpha")
    wait_online(coordinator, "alpha")
    stale = tmp_path / "stale"
    stale.write_text(ENROLMENT)
    secret_file.write_text("the-key-of-tomorrow-which-nobody-guesses")
    assert "the enrolment token is missing or wrong" in enrolling("beta", secret=stale).refused()
    wait_online(coordinator, "alpha")
    enrolling("gamma").wait_says("enrolled at")


def test_a_coordinator_that_enrols_nobody_says_how_it_would(
    coordinator: CoordinatorProcess, known_runner: RunnerProcess, enrolling: Callable[..., EnrollingRunner]
) -> None:
    variables, coordinator.variables = coordinator.variables, {}
    coordinator.kill()
    coordinator.start()
    try:
        assert "--enrolment-key-file" in complaint(post(coordinator, body(known_runner)), 403)
        assert "this coordinator enrols no runners" in enrolling("alpha").refused()
        assert runner_rows(coordinator) == []
    finally:
        coordinator.variables = variables
        coordinator.kill()
        coordinator.start()


def test_a_secret_file_that_is_gone_is_no_open_door(
    coordinator: CoordinatorProcess, known_runner: RunnerProcess, secret_file: Path
) -> None:
    for content in ("", "two words\n", "too-short"):
        secret_file.write_text(content)
        assert "does not contain the enrolment key" in complaint(post(coordinator, body(known_runner), "x"), 503)
    secret_file.unlink()
    assert "cannot be read" in complaint(post(coordinator, body(known_runner)), 503)
    secret_file.write_text(ENROLMENT)
    assert post(coordinator, body(known_runner)).status_code == 201


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"name": "x" * 65}, "name"),
        ({"name": ""}, "name"),
        ({"name": "a name"}, "name"),
        ({"name": None}, "name"),
        ({"name": "alpha\n"}, "name"),
        ({"url": "runner:7000"}, "url"),
        ({"url": "http://runner:port"}, "url"),
        ({"url": "http://[::1"}, "url"),
        ({"url": "http://a b"}, "url"),
        ({"url": "http://" + "x" * 500}, "url"),
        ({"secret": ""}, "secret"),
        ({"secret": "two words"}, "secret"),
        ({"secret": "caf\u00e9"}, "secret"),
        ({"device": "cpu"}, "device"),
    ],
)
def test_a_request_that_makes_no_sense(
    coordinator: CoordinatorProcess, known_runner: RunnerProcess, fields: dict[str, Any], words: str
) -> None:
    assert words in complaint(post(coordinator, body(known_runner, **fields)), 422)
    assert runner_rows(coordinator) == []


def test_a_url_at_which_nobody_answers(coordinator: CoordinatorProcess, known_runner: RunnerProcess) -> None:
    nowhere = f"http://127.0.0.1:{free_port()}"
    assert "check that it is running" in complaint(post(coordinator, body(known_runner, url=nowhere)), 502)
    assert "refused the secret" in complaint(post(coordinator, body(known_runner, secret="another")), 502)
    assert runner_rows(coordinator) == []


def test_a_runner_that_cannot_be_reached_says_so_once_and_goes_on(
    coordinator: CoordinatorProcess, enrolling: Callable[..., EnrollingRunner]
) -> None:
    runner = enrolling("alpha", "--advertise", f"http://127.0.0.1:{free_port()}")
    runner.wait_says("not enrolled yet: the runner at http://127.0.0.1")
    assert runner.process.poll() is None
    assert runner_rows(coordinator) == []


def test_up_refuses_a_secret_file_that_is_not_there(place: Path) -> None:
    line = Portolan(place).refused("up", "--enrolment-key-file", str(place / "nothing"))
    assert "the enrolment key cannot be read from" in line
