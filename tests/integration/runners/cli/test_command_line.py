"""``portolan-runner`` as a user calls it: its output and its exit codes."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from protocol.exit_codes import UNKNOWN_TARGET
from tests.fork_server import RUNNER_SERVER, call
from tests.runner_process import RunnerProcess, environment
from tests.waiting import LIMIT_S


def _call(*arguments: str, real: bool = False, **variables: str) -> subprocess.CompletedProcess[str]:
    server = None if real else RUNNER_SERVER
    return call(server, [sys.executable, "-m", "runners", *arguments], environment(**variables), "", LIMIT_S)


def _complaint(answer: subprocess.CompletedProcess[str]) -> str:
    """The one line on stderr of a command that failed."""
    assert answer.returncode == 2, (answer.stdout, answer.stderr)
    (line,) = answer.stderr.splitlines()
    return line


def test_run_prints_verdict_placement_and_timing() -> None:
    answer = _call("run", "hazards", "cpu", "hazards.add/0")
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.startswith("passed (returned)")
    assert "placement  on_device" in answer.stdout
    assert "steady" in answer.stdout


@pytest.mark.parametrize(
    ("case", "options", "code", "words"),
    [
        ("hazards.fail/0", [], 1, "on purpose"),
        ("hazards.hang/0", ["--timeout-s", "0.5"], 1, "timed_out"),
        ("hazards.gone/0", [], 0, "skipped"),
        ("hazards.kill_parent/0", [], 3, "incomplete"),
    ],
)
def test_run_ends_with_a_code_for_its_verdict(case: str, options: list[str], code: int, words: str) -> None:
    answer = _call("run", "hazards", "cpu", case, *options, real=True)
    assert (answer.returncode, words in answer.stdout) == (code, True), answer.stdout + answer.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "hazards", "cpu", "hazards.ad/0"], "did you mean hazards.add/0"),
        (["run", "hazards", "cpu", "hazards.add/0", "--timeout-s", "0"], "--timeout-s"),
        (["run", "hazards", "tpu", "hazards.add/0"], "it has cpu"),
        (["run", "hazards", "absent", "hazards.add/0"], "no hazard was found on the bus"),
        (["run", "hazards", "broken", "hazards.add/0"], "libhazards.so.1"),
        (["serve", "hazards", "absent", "--port", "0"], "no hazard was found on the bus"),
        (["serve", "hazards", "broken", "--port", "0"], "libhazards.so.1"),
        (["serve", "hazards", "cpu", "--slots", "0"], "--slots is 0: give a number from 1 to 64"),
        (["run", "hazards", "cpu", "hazards.add/0", "--slots", "2"], "--slots go with --out FILE"),
        (["setup", "hazards"], "has no environment that Portolan can set up"),
        (["setup", "torch", "xlaa"], "framework 'torch' has no device 'xlaa'; did you mean xla?"),
        (["serve", "hazards"], "the following arguments are required: DEVICE: see portolan-runner serve --help"),
        (["serv"], "see portolan-runner --help"),
        (["run", "hazards", "cpu", "--timing", "fast"], "invalid choice: 'fast'"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(arguments: list[str], words: str) -> None:
    assert words in _complaint(_call(*arguments))


def test_a_name_that_no_framework_has_is_told_by_its_code() -> None:
    answer = _call("serve", "hazard", "cpu")
    assert (answer.returncode, answer.stdout) == (UNKNOWN_TARGET, "")
    assert "did you mean 'hazards'" in answer.stderr


def test_a_device_that_cannot_be_primed_is_the_environments_fault() -> None:
    answer = _call("run", "hazards", "unprimable", "hazards.add/0")
    assert answer.returncode == 3
    assert "the device is in use" in answer.stdout
    assert "stage      prime" in answer.stdout


def test_a_framework_without_its_environment_names_the_command(tmp_path: Path) -> None:
    answer = _call("serve", "torch", "cpu", "--port", "0", PORTOLAN_CACHE=str(tmp_path))
    assert "portolan-runner setup torch" in _complaint(answer)


def test_cases_lists_what_run_takes() -> None:
    answer = _call("cases", "hazards", "--match", "hazards.add/*")
    assert answer.stdout.splitlines()[0] == "hazards\thazards.add/0"
    assert len(answer.stdout.splitlines()) == 4


def test_a_port_in_use_is_said_in_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = str(listener.getsockname()[1])
        assert "another program listens there" in _complaint(_call("serve", "hazards", "cpu", "--port", port))


@pytest.mark.parametrize("secret", ["", "  \n"])
def test_an_empty_secret_is_refused(secret: str, tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text(secret)
    assert "is empty" in _complaint(_call("serve", "hazards", "cpu", "--secret-file", str(file)))
    assert "is empty" in _complaint(_call("serve", "hazards", "cpu", PORTOLAN_RUNNER_SECRET=secret))


def test_the_ready_file_says_what_stdout_says_and_a_given_secret_is_not_repeated(tmp_path: Path) -> None:
    ready = tmp_path / "ready.json"
    running = RunnerProcess("--ready-file", str(ready), real=True, PORTOLAN_RUNNER_SECRET="s3cret")
    try:
        content = json.loads(ready.read_text())
        assert content == running.ready
        assert {"url", "boot_id", "framework", "version", "device", "hardware"} == content.keys()
        assert ready.stat().st_mode & 0o077 == 0
        zygote = Path(f"/proc/{running.zygote().pid}/environ").read_bytes()
        assert b"s3cret" not in zygote, "a case could read the runner's secret"
    finally:
        running.stop()


def test_the_supervisor_is_small_and_imports_no_numpy() -> None:
    running = RunnerProcess(real=True)
    try:
        running.run("add/0")
        status = Path(f"/proc/{running.pid}/status").read_text()
        resident = int(status.split("VmRSS:")[1].split()[0]) * 1024
        assert resident < 80 << 20
        assert "numpy" not in Path(f"/proc/{running.pid}/maps").read_text()
        assert "numpy" in Path(f"/proc/{running.zygote().pid}/maps").read_text()
    finally:
        running.stop()


def test_it_can_be_started_from_any_folder() -> None:
    here = os.getcwd()
    try:
        # Where the folder ``torch`` is ours, ``import torch`` must still be the wheel.
        os.chdir(Path(__file__).parents[4] / "runners")
        running = subprocess.run(
            [sys.executable, "-P", "-m", "runners", "run", "hazards", "cpu", "hazards.add/0"],
            env=environment(),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    finally:
        os.chdir(here)
    assert running.returncode == 0, running.stderr
