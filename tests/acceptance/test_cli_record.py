"""``portolan-runner record`` and ``portolan assess`` of a recording, with a script of PyTorch as a user has one.

The environment is the one that ``portolan-runner setup torch`` made; ``make test`` calls it first.
"""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from protocol.bundle import BundledOutcome
from protocol.enums import Ending, Placement, Verdict
from protocol.recording import Recording
from protocol.watched_run import WatchedRun
from runners.cli import environments
from tests.portolan_process import COMMAND
from tests.runner_process import environment
from tests.waiting import until

LIMIT_S = 600.0
TRAIN = """\
import sys

import torch
import torch.nn.functional as F

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.BatchNorm1d(16), torch.nn.GELU(), torch.nn.Linear(16, 4))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(int(sys.argv[1])):
    x, y = torch.randn(32, 8), torch.randint(0, 4, (32,))
    out = net(x)
    loss = F.cross_entropy(out, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    places = torch.nonzero(out > 0)
    print(f"step {step}: {loss.item() > 0}")
"""
NONZERO_LINE = TRAIN.splitlines().index("    places = torch.nonzero(out > 0)") + 1


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-P", "-m", "runners", *arguments]
    return subprocess.run(
        command, cwd=folder, env=environment(), capture_output=True, text=True, timeout=LIMIT_S, check=False
    )


def record(folder: Path, script: str, *arguments: str, options: tuple[str, ...] = ()) -> tuple[int, str, str]:
    """Record a script. Returns the exit code, and the output on stdout and stderr."""
    (folder / "train.py").write_text(script)
    process = run(
        folder, "record", "torch", "--out", "recording.json", *options, "--", "python", "train.py", *arguments
    )
    return process.returncode, process.stdout, process.stderr


def read(folder: Path) -> Recording:
    return Recording.model_validate_json((folder / "recording.json").read_bytes())


def replay(folder: Path, device: str) -> Mapping[str, BundledOutcome]:
    """Replay the recorded calls on a device, and return the outcomes by case."""
    bundle = folder / f"{device}.bundle"
    process = run(
        folder, "run", "torch", device, "--suite", "./recording.json", "--runs", "1", "--timing", "off",
        "--out", bundle.name,
    )  # fmt: skip
    assert process.returncode == 0, process.stderr
    lines = bundle.read_text().splitlines()[1:-1]
    return {outcome.case: outcome for outcome in map(BundledOutcome.model_validate_json, lines)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project whose training was recorded."""
    folder = tmp_path_factory.mktemp("project")
    code, stdout, stderr = record(folder, TRAIN, "3")
    assert code == 0, stderr
    assert stdout == "".join(f"step {step}: True\n" for step in range(3))
    assert "distinct calls of torch" in stderr
    return folder


def test_every_distinct_call_stands_in_the_recording_with_its_line(folder: Path) -> None:
    recording = read(folder)
    calls = {call.function: call for call in recording.calls}
    assert recording.command == ["python", "train.py", "3"]
    assert recording.exit_code == 0
    assert [(site.file, site.line, site.count) for site in calls["torch.nonzero"].sites] == [
        ("train.py", NONZERO_LINE, 3)
    ]
    loss = calls["torch.nn.functional.cross_entropy"]
    assert (loss.count, loss.arrays[0].shape, loss.arrays[1].dtype) == (3, [32, 4], "int64")
    assert loss.arrays[0].values is None
    assert loss.arrays[1].values is not None
    assert loss.gradient is not None
    assert calls["torch.nonzero"].gradient is None
    assert [crossing.function for crossing in recording.crossings] == ["torch.Tensor.item"]


def test_it_is_a_suite_that_passes_on_the_cpu(folder: Path) -> None:
    recording = read(folder)
    outcomes = replay(folder, "cpu")
    assert outcomes.keys() == {case for call in recording.calls for case in call.cases}
    assert {case: outcome for case, outcome in outcomes.items() if outcome.outcome.verdict is not Verdict.passed} == {}


@pytest.mark.level(2)
def test_on_xla_it_says_which_call_falls_back(folder: Path) -> None:
    outcomes = replay(folder, "xla")
    fell_back = {
        outcome.case.partition("/")[0]
        for outcome in outcomes.values()
        if outcome.outcome.placement is Placement.fell_back
    }
    assert fell_back == {"torch.nonzero"}
    assert {outcome.outcome.ending for outcome in outcomes.values()} <= {Ending.returned, Ending.mismatched}


@pytest.mark.level(2)
def test_a_command_is_assessed_by_the_replay_of_its_calls(folder: Path) -> None:
    process = subprocess.run(
        [*COMMAND, "assess", "--run", "python train.py 2", "--on", "torch/xla", "--fail-on", "falls-back"],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert process.returncode == 1, process.stderr
    flat_text = " ".join(process.stdout.split())
    assert f"1 function that silently runs on the host (torch.nonzero at train.py:{NONZERO_LINE})" in flat_text
    assert "Values cross 2 times to the host" in flat_text
    assert "What this cannot know" in flat_text


def test_a_recording_is_assessed_by_evidence_where_it_is_not_replayed(folder: Path, tmp_path: Path) -> None:
    """The evidence of torch/xla that ships with Portolan, written to a file in the form of a coordinator's export."""
    evidence_path = Path(__file__).parents[2] / "coordinator" / "assess" / "data" / "evidence.json.gz"
    process = subprocess.run(
        [*COMMAND, "assess", "recording.json", "--on", "torch/xla", "--data", str(evidence_path), "--format", "json"],
        cwd=folder,
        env=environment(PORTOLAN_DATA=str(tmp_path)),
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    report = json.loads(process.stdout)
    findings = {(finding["function"], finding["kind"]): finding for finding in report["findings"]}
    assert [place["line"] for place in findings["torch.nonzero", "falls-back"]["places"]] == [NONZERO_LINE]
    assert report["run"]["is_replayed"] is False
    assert report["run"]["crossings"] == [
        {"place": "train.py:17", "function": "torch.Tensor.item", "direction": "to_host", "count": 3}
    ]


@pytest.mark.parametrize(
    ("script", "code", "exit_code", "words"),
    [
        ("import torch\ntorch.sin(torch.ones(2, device='cpu'))\nraise ValueError('mine')", 1, 1, "exit code 1"),
        ("import os, torch\ntorch.sin(torch.ones(2, device='cpu'))\nos.kill(os.getpid(), 9)", 1, -9, "with signal 9"),
        (
            "import os, sys, torch\ntorch.sin(torch.ones(2, device='cpu'))\n"
            "if not os.fork():\n    torch.cos(torch.ones(2))\n    os._exit(0)\nos.wait()\nsys.exit(0)",
            0,
            0,
            "It forked processes",
        ),
    ],
    ids=["fails", "crashes", "forks"],
)
def test_what_a_command_called_before_it_failed_is_kept(
    tmp_path: Path, script: str, code: int, exit_code: int, words: str
) -> None:
    returncode, _, stderr = record(tmp_path, script)
    assert returncode == code, stderr
    assert words in stderr
    recording = read(tmp_path)
    assert recording.exit_code == exit_code
    assert [call.function for call in recording.calls] == ["torch.ones", "torch.sin"]
    assert ("mine" in stderr) == (exit_code == 1)


def test_another_framework_that_the_command_imports_is_named(tmp_path: Path) -> None:
    environment_of_jax = environments.find("jax", "cpu")
    assert environment_of_jax is not None
    (packages,) = environment_of_jax.glob("lib/python*/site-packages")
    script = (
        f"import sys, torch\ntorch.sin(torch.ones(2, device='cpu'))\nsys.path.append({str(packages)!r})\n"
        "import jax.numpy\njax.numpy.sin(jax.numpy.ones(2))"
    )
    code, _, stderr = record(tmp_path, script)
    assert code == 0, stderr
    assert "It also imported jax, whose calls are not recorded" in stderr
    assert [call.function for call in read(tmp_path).calls] == ["torch.ones", "torch.sin"]


def test_a_command_that_hangs_is_killed_at_its_deadline_and_what_it_called_is_kept(tmp_path: Path) -> None:
    script = (
        "import signal, torch\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "x = torch.ones(2, device='cpu')\nwhile True:\n    torch.sin(x)"
    )
    code, _, stderr = record(tmp_path, script, options=("--timeout-s", "40"))
    assert code == 3, stderr
    assert "was killed after 40 s" in stderr
    recording = read(tmp_path)
    assert recording.exit_code is None
    assert recording.calls[-1].function == "torch.sin"
    assert recording.calls[-1].count > 1


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("print('hello')", "the command ended with exit code 0 before it called a function of torch"),
        ("import sys\nsys.exit(7)", "the command ended with exit code 7 before it called a function of torch"),
    ],
)
def test_a_command_that_never_calls_the_framework_leaves_no_recording(tmp_path: Path, script: str, words: str) -> None:
    code, _, stderr = record(tmp_path, script)
    assert code == 2
    assert words in stderr.splitlines()[-1]
    assert not (tmp_path / "recording.json").exists()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{}", "is not a recording of Portolan: create one with portolan-runner record"),
        ('{"type": "portolan-recording", "format": 9, "portolan": "7.0"}', "has format 9 (made by portolan 7.0)"),
    ],
)
def test_a_file_that_is_no_recording_is_refused_by_both_commands(tmp_path: Path, content: str, words: str) -> None:
    (tmp_path / "recording.json").write_text(content)
    for command in (
        [sys.executable, "-P", "-m", "runners", "cases", "torch", "--suite", "./recording.json"],
        [*COMMAND, "assess", "recording.json", "--on", "torch/xla"],
    ):
        process = subprocess.run(
            command, cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=LIMIT_S, check=False
        )
        assert process.returncode == 2, process.stderr
        (line,) = process.stderr.splitlines()
        assert words in line.replace("`", "")


def test_ctrl_c_ends_the_command_and_keeps_what_it_called(tmp_path: Path) -> None:
    script = "import torch\nx = torch.ones(2, device='cpu')\nprint('called', flush=True)\nwhile True:\n    torch.sin(x)"
    (tmp_path / "train.py").write_text(script)
    command = [sys.executable, "-P", "-m", "runners", "record", "torch", "--out", "recording.json"]
    recording = subprocess.Popen(
        [*command, "--", "python", "train.py"],
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert recording.stdout is not None
    assert recording.stdout.readline() == "called\n"
    recording.send_signal(signal.SIGINT)
    _, stderr = recording.communicate(timeout=LIMIT_S)
    assert recording.returncode == 130, stderr
    assert read(tmp_path).calls[0].function == "torch.ones"


def test_an_interrupted_assessment_of_a_command_says_where_its_calls_are(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    script = f"import torch\ntorch.ones(2, device='cpu')\nopen({str(mark)!r}, 'w')\nwhile True:\n    pass\n"
    (tmp_path / "train.py").write_text(script)
    assessment = subprocess.Popen(
        [*COMMAND, "assess", "--run", "python train.py", "--on", "torch/xla"],
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    until(mark.exists, "the command has made a call")
    assessment.send_signal(signal.SIGINT)
    _, stderr = assessment.communicate(timeout=LIMIT_S)
    assert assessment.returncode == 130, stderr
    (file,) = re.findall(r"portolan assess (\S+) --on torch/xla", stderr)
    assert Recording.model_validate_json(Path(file).read_bytes()).calls[0].function == "torch.ones"


def watched(folder: Path, script: str, *arguments: str, options: tuple[str, ...] = ()) -> tuple[int, WatchedRun]:
    """Run a whole script on XLA. Returns its exit code and the report of the run."""
    (folder / "whole.py").write_text(script)
    process = run(
        folder, "watch", "torch", "xla", "--out", "run.json", *options, "--", "python", "whole.py", *arguments
    )
    assert (folder / "run.json").exists(), process.stderr
    return process.returncode, WatchedRun.model_validate_json((folder / "run.json").read_bytes())


@pytest.mark.level(2)
def test_a_whole_run_on_xla_shows_which_line_falls_back_there(tmp_path: Path) -> None:
    code, told = watched(tmp_path, TRAIN, "2")
    assert (code, told.exit_code, told.device) == (0, 0, "xla")
    fell_back = {event.function: [(site.file, site.line) for site in event.sites] for event in told.events}
    assert fell_back["torch.nonzero"] == [("whole.py", NONZERO_LINE)]
    assert {event.kind for event in told.events} == {"fell_back"}


HOSTILE = """\
import os, signal, subprocess, sys, time
import torch
x = torch.ones(3) + 1
if sys.argv[1] == "hangs":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    subprocess.Popen(["sleep", "1000"], start_new_session=True)
    time.sleep(1000)
if sys.argv[1] == "forks":
    if os.fork() == 0:
        os._exit(7)
    os.wait()
if sys.argv[1] == "dies":
    os.kill(os.getpid(), signal.SIGKILL)
if sys.argv[1] == "raises":
    torch.ones(2) @ torch.ones(3)
"""


@pytest.mark.level(2)
@pytest.mark.parametrize(
    ("how", "code", "exit_code"), [("hangs", 3, None), ("forks", 0, 0), ("dies", 1, -9), ("raises", 1, 1)]
)
def test_a_whole_run_that_misbehaves_is_contained_and_told(
    tmp_path: Path, how: str, code: int, exit_code: int | None
) -> None:
    ended, told = watched(tmp_path, HOSTILE, how, options=("--timeout-s", "90") if how == "hangs" else ())
    assert (ended, told.exit_code) == (code, exit_code)
    assert any("forked" in note for note in told.notes) == (how == "forks")
    raised = [(event.function, event.sites[0].line) for event in told.events if event.kind == "raised"]
    assert raised == ([("torch.Tensor.matmul", len(HOSTILE.splitlines()))] if how == "raises" else [])
