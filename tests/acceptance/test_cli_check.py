"""``portolan runner check``, used like the author of a runner uses it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from tests.acceptance.test_registration import answering
from tests.coordinator_process import free_port
from tests.faults.conformance.toy import SECRET, Toy, served_beside
from tests.portolan_process import Portolan
from tests.runner_process import environment
from tests.short_times import HEARTBEAT
from tests.waiting import LIMIT_S, until

KEEPER = """
while :; do
  cd "$FOLDER"
  "$PYTHON" -m runners serve "$FRAMEWORK" cpu --port "$PORT" --secret-file secret --ready-file ready &
  echo $! > pid.new; mv pid.new pid
  wait
done
"""
"""A shell script in place of the service manager (systemd, Docker) that restarts a runner."""
CHECK_TIMES = "heartbeat_s=5, running_s=10, lasting_s=6, sample_s=10"
"""The coordinator's times for runners with a heartbeat every 0.3 or 0.5 s. The time limit of a case is not
shortened."""
RESTART = 'pid=$(cat "$FOLDER/pid"); kill $pid; while kill -0 $pid 2> /dev/null; do sleep 0.05; done'


@pytest.fixture
def portolan(tmp_path: Path) -> Portolan:
    return Portolan(tmp_path / "data", PORTOLAN_CHECK_TIMES=CHECK_TIMES)


@contextmanager
def restarting_runner(framework: str, folder: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """A runner that is restarted whenever it ends. Yields its URL and the data that the restart needs."""
    (folder / "secret").write_text("a secret\n")
    port = free_port()
    variables = {"PYTHON": sys.executable, "FRAMEWORK": framework, "PORT": str(port), "FOLDER": str(folder)}
    variables |= HEARTBEAT
    keeper = subprocess.Popen(
        ["sh", "-c", KEEPER], env=environment(**variables), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        until((folder / "ready").exists, f"the runner of {framework} is ready", limit_s=LIMIT_S)
        yield f"http://127.0.0.1:{port}", variables
    finally:
        family = psutil.Process(keeper.pid).children()
        keeper.kill()
        keeper.wait(LIMIT_S)
        for member in family:
            member.terminate()
        psutil.wait_procs(family, timeout=LIMIT_S)


@pytest.mark.parametrize("framework", ["hazards", "jax"])
def test_a_runner_of_ours_passes_every_check_over_a_restart(framework: str, portolan: Portolan, place: Path) -> None:
    with restarting_runner(framework, place) as (url, variables):
        portolan.variables |= variables
        process = portolan.call(
            "runner", "check", url, "--secret-file", str(place / "secret"), "--restart-command", RESTART, "--json"
        )
        assert process.returncode == 0, process.stdout + process.stderr
        report = json.loads(process.stdout)
    assert {finding["id"]: finding["detail"] for finding in report["findings"] if finding["result"] != "passed"} == {}
    assert report["level"] == "full"
    assert report["runner"].startswith(f"{framework}@")


def test_each_finding_is_a_line_with_its_sentence_and_a_broken_promise_is_exit_code_1(portolan: Portolan) -> None:
    with served_beside(Toy("queues a case that it does not have")) as url:
        process = portolan.call("runner", "check", url, "--secret-stdin", "--probe", stdin=f"{SECRET}\n")
    assert process.returncode == 1, process.stderr
    lines = process.stdout.splitlines()
    sentence = "The runner answers GET /healthz with 200, with or without the secret."
    assert lines[0] == f"passed   access.healthz         {sentence}"
    (broken,) = [number for number, line in enumerate(lines) if line.startswith("FAILED")]
    assert "jobs.receipts" in lines[broken]
    assert "POST /v1/jobs returns one status per job" in lines[broken]
    assert "the second with an unknown case" in lines[broken + 1]
    assert lines[-1].startswith("toy@1/none on toy: ")
    assert "1 failed, 0 not run" in lines[-1]


def test_a_restart_command_that_fails_is_no_fault_of_the_runner(portolan: Portolan) -> None:
    with served_beside(Toy()) as url:
        process = portolan.call(
            "runner", "check", url, "--secret-stdin", "--restart-command", "exit 3", "--json", stdin=SECRET
        )
    (finding,) = [row for row in json.loads(process.stdout)["findings"] if row["result"] != "passed"]
    assert (finding["id"], finding["result"]) == ("restart.boot", "not run")
    assert "exit code 3" in finding["detail"]
    assert process.returncode == 0


def test_times_that_cannot_be_read_are_one_line(portolan: Portolan) -> None:
    portolan.variables["PORTOLAN_CHECK_TIMES"] = "lasting=6"
    assert "PORTOLAN_CHECK_TIMES: there is no time 'lasting'" in portolan.refused(
        "runner", "check", "http://127.0.0.1:1"
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["http://127.0.0.1:1"], "check that it is running"),
        (["127.0.0.1:8790"], "check that it is running and that the URL is right"),
        (["http://"], "URL"),
        (["http://[::1"], "URL"),
        (["http://127.0.0.1:1", "--secret-file", "nowhere"], "there is no file nowhere"),
        (["http://127.0.0.1:1", "--secret-file", "nowhere", "--secret-stdin"], "cannot be combined"),
        (["http://127.0.0.1:1", "--probe", "--restart-command", "true"], "--restart-command without --probe"),
    ],
)
def test_what_cannot_begin_is_one_line(portolan: Portolan, arguments: list[str], words: str) -> None:
    assert words in portolan.refused("runner", "check", *arguments)


@pytest.mark.parametrize("body", [b"<html>a web page</html>", b'{"hello": "world"}', b"", b"[]"])
def test_what_is_no_runner_is_refused_in_one_line(portolan: Portolan, body: bytes) -> None:
    with answering(body) as url:
        assert "is not a runner" in portolan.refused("runner", "check", url)


def test_a_refused_secret_is_one_line(portolan: Portolan) -> None:
    with served_beside(Toy()) as url:
        assert "refused the secret" in portolan.refused("runner", "check", url)
