"""Recording and assessing a script of JAX and one of TensorFlow, by the commands that a user types.

The environments are those that ``portolan-runner setup`` made; ``make test`` calls it first.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from protocol.bundle import BundledOutcome
from protocol.enums import Verdict
from protocol.recording import Recording
from protocol.watched_run import WatchedRun
from tests.portolan_process import COMMAND
from tests.runner_process import environment

LIMIT_S = 600.0
JAX = """\
import sys

import jax
import jax.numpy as jnp


def loss(w, x):
    return jnp.mean(jnp.tanh(x @ w) ** 2)


@jax.jit
def step(w, x):
    return w - 0.1 * jax.grad(loss)(w, x)


w = jax.random.normal(jax.random.key(0), (4, 4))
for number in range(int(sys.argv[1])):
    w = step(w, jnp.ones((8, 4)))
    values = jnp.linalg.eigvals(w)
    print(f"step {number}: {float(jnp.abs(values).sum()) > 0}")
"""
TENSORFLOW = """\
import sys

import tensorflow as tf

w = tf.Variable(tf.ones((4, 4)))


@tf.function
def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.tanh(x @ w) ** 2)
    w.assign_sub(0.1 * tape.gradient(loss, w))
    return loss


for number in range(int(sys.argv[1])):
    loss = step(tf.ones((8, 4)))
    values = tf.linalg.eigvals(w)
    print(f"step {number}: {float(loss) > 0}")
"""
SCRIPTS = {"jax": JAX, "tensorflow": TENSORFLOW}
TANH = {"jax": "jax.numpy.tanh", "tensorflow": "tf.tanh"}


def line_of(script: str, text: str) -> int:
    (line,) = [number for number, line in enumerate(script.splitlines(), start=1) if text in line]
    return line


def run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=folder, env=environment(), capture_output=True, text=True, timeout=LIMIT_S, check=False
    )


@pytest.mark.parametrize("framework", SCRIPTS)
def test_a_script_is_recorded_and_is_a_suite_that_passes_on_the_cpu(tmp_path: Path, framework: str) -> None:
    script = SCRIPTS[framework]
    (tmp_path / "train.py").write_text(script)
    runner = [sys.executable, "-P", "-m", "runners"]
    done = run([*runner, "record", framework, "--out", "recording.json", "--", "python", "train.py", "3"], tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "".join(f"step {number}: True\n" for number in range(3))
    recording = Recording.model_validate_json((tmp_path / "recording.json").read_bytes())
    assert recording.left_out == []
    calls = {call.function: call for call in recording.calls}
    tanh = calls[TANH[framework]]
    assert [(site.file, site.line, site.count) for site in tanh.sites] == [
        ("train.py", line_of(script, "tanh(x @ w)"), 3)
    ]
    assert (tanh.arrays[0].shape, tanh.gradient is not None) == ([8, 4], True)
    assert sum(site.count for crossing in recording.crossings for site in crossing.sites) == 3
    replayed = run(
        [
            *runner, "run", framework, "cpu", "--suite", "./recording.json", "--runs", "1", "--timing", "off",
            "--out", "cpu.bundle",
        ],
        tmp_path,
    )  # fmt: skip
    assert replayed.returncode == 0, replayed.stderr
    outcomes = _outcomes(tmp_path / "cpu.bundle")
    assert outcomes.keys() == {case for call in recording.calls for case in call.cases}
    assert {case: outcome for case, outcome in outcomes.items() if outcome.outcome.verdict is not Verdict.passed} == {}


def _outcomes(bundle: Path) -> Mapping[str, BundledOutcome]:
    lines = bundle.read_text().splitlines()[1:-1]
    return {outcome.case: outcome for outcome in map(BundledOutcome.model_validate_json, lines)}


@pytest.mark.level(2)
@pytest.mark.parametrize(
    ("framework", "device", "function", "text"),
    [
        ("jax", "tpu-lowered", "jax.numpy.linalg.eigvals", "eigvals(w)"),
        ("tensorflow", "xla", "tf.linalg.eigvals", "eigvals(w)"),
    ],
)
def test_a_command_is_assessed_by_the_replay_of_its_calls(
    tmp_path: Path, framework: str, device: str, function: str, text: str
) -> None:
    script = SCRIPTS[framework]
    (tmp_path / "train.py").write_text(script)
    done = run(
        [*COMMAND, "assess", "--run", "python train.py 2", "--on", f"{framework}/{device}", "--fail-on", "fails"],
        tmp_path,
    )
    assert done.returncode == 1, done.stderr
    assert f"{function} at train.py:{line_of(script, text)}" in " ".join(done.stdout.split())
    assert "Values cross 2 times to the host" in done.stdout


@pytest.mark.level(2)
def test_a_whole_run_of_tensorflow_shows_which_line_the_compiler_refuses(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TENSORFLOW)
    runner = [sys.executable, "-P", "-m", "runners"]
    done = run([*runner, "watch", "tensorflow", "xla", "--out", "run.json", "--", "python", "train.py", "2"], tmp_path)
    told = WatchedRun.model_validate_json((tmp_path / "run.json").read_bytes())
    assert (done.returncode, told.exit_code) == (1, 1), done.stderr
    (event,) = told.events
    assert (event.function, event.kind) == ("tf.linalg.eigvals", "raised")
    assert [(site.file, site.line) for site in event.sites] == [("train.py", line_of(TENSORFLOW, "eigvals(w)"))]
