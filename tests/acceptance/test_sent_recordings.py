"""An operator sends a recording to a runner through the coordinator. A runner that permits this accepts recordings that
follow the rule, and serves them as suites.

The environment is the one that ``portolan-runner setup jax`` made; ``make test`` calls this command first.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from protocol.catalogue import Catalogue
from protocol.recording import Recording
from protocol.runner import RunnerInfo
from tests.acceptance.conftest import SECRET
from tests.admin import ADMIN_TOKEN
from tests.coordinator_process import CoordinatorProcess
from tests.portolan_process import COMMAND
from tests.runner_process import RunnerProcess, environment

LIMIT_S = 600.0
SERVE = (sys.executable, "-P", "-m", "runners", "serve", "jax", "cpu", "--port", "0")
ARRAY = {"dtype": "float32", "shape": [2, 3], "low": -1.0, "high": 1.0}
CALL: dict[str, Any] = {
    "function": "jax.numpy.tanh",
    "name": "float32-00000001",
    "dtype": "float32",
    "call": {"tuple": [[{"array": 0}], {"mapping": []}]},
    "arrays": [ARRAY],
    "changes": [],
    "is_random": False,
    "gradient": None,
    "count": 1,
    "seconds": 0.1,
    "sites": [{"file": "train.py", "line": 3, "count": 1}],
}


def recording(*calls: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {
        "type": "portolan-recording",
        "format": 1,
        "portolan": "0.1.0",
        "framework": "jax",
        "version": "0.10.2",
        "command": ["python", "train.py"],
        "folder": "/home/me/project",
        "recorded_at": "2026-01-02T03:04:05Z",
        "seconds": 1.0,
        "exit_code": 0,
        "notes": [],
        "calls": list(calls),
        "crossings": [],
        "left_out": [],
        **changes,
    }


@pytest.fixture(scope="module")
def jax_runner(coordinator: CoordinatorProcess) -> Iterator[RunnerProcess]:
    """A registered runner of JAX that accepts recordings."""
    running = RunnerProcess("--accept-recordings", command=SERVE, PORTOLAN_RUNNER_SECRET=SECRET)
    answer = coordinator.register(running.ready["url"], SECRET)
    assert answer.status_code == 201, answer.text
    yield running
    assert running.stop() == 0


def id_of_jax(coordinator: CoordinatorProcess) -> int:
    (runner_id,) = [
        one["id"] for one in coordinator.http.get("/runners").json()["runners"] if one["framework"] == "jax"
    ]
    return int(runner_id)


def send(coordinator: CoordinatorProcess, sent: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    """Send a recording to the JAX runner. Returns the status and body of the response."""
    path = f"/runners/{id_of_jax(coordinator)}/recordings"
    answer = coordinator.http.post(path, json=sent, timeout=LIMIT_S)
    return answer.status_code, answer.json()


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        (recording({**CALL, "function": "jax.pure_callback"}), "it is not a public function"),
        (recording(CALL, {**CALL, "function": "jax.numpy.load"}), "it reads or writes files"),
        (
            recording({**CALL, "call": {"tuple": [[{"public": "os.system", "named": 1}], {"mapping": []}]}}),
            "names no function among arguments",
        ),
        (recording({**CALL, "function": "torch.add"}, framework="torch"), "this runner serves jax"),
        (recording(), "the recording has no calls"),
    ],
)
def test_a_recording_that_may_not_be_replayed_is_refused_whole(
    coordinator: CoordinatorProcess, jax_runner: RunnerProcess, sent: dict[str, Any], reason: str
) -> None:
    boot_id = jax_runner.info.boot_id
    status, problem = send(coordinator, sent)
    assert status == 409
    assert reason in problem["detail"]
    assert RunnerInfo.model_validate_json(jax_runner.http.get("/v1/runner").content).boot_id == boot_id


def test_a_runner_that_nobody_opened_refuses_and_needs_its_secret(runner: RunnerProcess) -> None:
    answer = runner.http.post("/v1/recordings", json=recording(CALL))
    assert answer.status_code == 403
    assert "--accept-recordings" in answer.json()["detail"]
    assert runner.http.post("/v1/recordings", json=recording(CALL), headers={"Authorization": "x"}).status_code == 401


def test_it_is_charted_as_a_suite_of_the_runners_next_boot(
    coordinator: CoordinatorProcess, jax_runner: RunnerProcess, tmp_path: Path
) -> None:
    file = tmp_path / "recording.json"
    file.write_text(Recording.model_validate(recording(CALL)).model_dump_json())
    runner_id = id_of_jax(coordinator)
    process = subprocess.run(
        [*COMMAND, "runner", "send", str(runner_id), str(file), "--url", coordinator.url],
        env=environment(PORTOLAN_TOKEN=ADMIN_TOKEN), capture_output=True, text=True, timeout=LIMIT_S, check=False,
    )  # fmt: skip
    assert process.returncode == 0, process.stderr
    assert f"runner {runner_id} serves it" in process.stdout
    suite = process.stdout.split("--suite ")[1].split()[0]
    catalogue = Catalogue.model_validate_json(jax_runner.http.get("/v1/catalogue").content)
    (cases,) = [one.cases for one in catalogue.suites if one.name == suite]
    assert [case.id for case in cases] == ["jax.numpy.tanh/float32-00000001"]
    campaign = coordinator.submit("*", suite=suite, runs=1, targets=["jax/*"])
    assert coordinator.wait_ended(campaign)["state"] == "done"
    assert [outcome["verdict"] for outcome in coordinator.outcomes(campaign)] == ["passed"]
    # The same recording is the same suite.
    assert send(coordinator, recording(CALL)) == (202, {"suite": suite})


def test_without_one_that_cannot_be_imported_the_runner_goes_on(
    coordinator: CoordinatorProcess, jax_runner: RunnerProcess
) -> None:
    before = Catalogue.model_validate_json(jax_runner.http.get("/v1/catalogue").content)
    status, answer = send(coordinator, recording({**CALL, "dtype": "float31"}))
    assert status == 202
    assert jax_runner.process.stderr is not None
    refusal = f"portolan-runner: {answer['suite']} is not served: "
    assert next(line for line in jax_runner.process.stderr if line.startswith(refusal))
    assert Catalogue.model_validate_json(jax_runner.http.get("/v1/catalogue").content) == before
