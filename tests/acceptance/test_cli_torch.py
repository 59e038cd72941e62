"""The main job with the real framework: PyTorch on the CPU, from the command line to the matrix.

The environment is the one that ``portolan-runner setup torch`` made; ``make test`` calls this command first. The
environment of another release is made here once, and kept beside the others.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from coordinator.assess import evidence_file
from tests.portolan_process import Portolan
from tests.runner_process import RunnerProcess, environment

NEWER = "torch==2.15.0"
SETUP_LIMIT_S = 1_200.0
"""The time limit for installing a release of PyTorch, which is several gigabytes."""
SECRET = "a secret of the tests"


@pytest.fixture
def portolan(directory: Path) -> Iterator[Portolan]:
    portolan = Portolan(directory.parent)
    up = portolan.up("--targets", "torch/cpu", "--port", "0")
    try:
        assert "torch/cpu: runner ready, torch@" in up.said, "set the environment up first: portolan-runner setup torch"
        yield portolan
    finally:
        up.stop()


@pytest.fixture(scope="module")
def newer() -> Path:
    """The Python of the environment that ``setup`` makes for the newer release."""
    process = subprocess.run(
        [sys.executable, "-m", "runners", "setup", NEWER],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=SETUP_LIMIT_S,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    python = Path(process.stdout.strip()) / "bin" / "python"
    assert f"choose it with --python {python}" in process.stderr
    return python


@pytest.mark.level(2)
def test_what_a_program_calls_and_nobody_charted_is_charted_and_reported(directory: Path, tmp_path: Path) -> None:
    (shipped_target,) = [target for target in evidence_file.load_shipped().targets if target.framework == "torch"]
    data, program = tmp_path / "evidence.json", tmp_path / "train.py"
    little = replace(shipped_target, functions={"torch.add": shipped_target.functions["torch.add"]})
    data.write_bytes(evidence_file.document_of([little], shipped_target.charted_at))
    program.write_text("import torch\n\n\ndef step(x):\n    return torch.renorm(torch.add(x, x), 2, 0, 1)\n")
    portolan = Portolan(directory.parent)
    up = portolan.up("--targets", "torch/xla", "--port", "0")
    try:
        arguments = ("assess", str(program), "--on", "torch/xla", "--data", str(data))
        assert "Unknown, because nobody charted them: torch.renorm" in portolan.ask(*arguments)
        process = portolan.call(*arguments, "--chart")
    finally:
        up.stop()
    assert process.returncode == 0, process.stderr
    assert "charts 1 function with the suite library" in process.stderr
    assert "HOST  torch.renorm (1 place)" in process.stdout


@pytest.mark.level(2)
def test_functions_of_pytorch_are_charted_on_the_cpu(portolan: Portolan) -> None:
    functions = "torch.lt torch.diag torch.cuda.synchronize"
    output = portolan.ask("submit", "--functions", functions, "--targets", "torch/cpu", "--runs", "1", "--wait")
    number = output.splitlines()[0]
    rows = json.loads(portolan.ask("results", number, "--format", "json"))
    verdicts: dict[str, set[tuple[str, str | None]]] = {row["function"]: set() for row in rows}
    for row in rows:
        verdicts[row["function"]].add((row["verdict"], row["cause"]))
    assert verdicts["torch.lt"] == verdicts["torch.diag"] == {("passed", None)}
    assert {verdict for verdict, _ in verdicts["torch.cuda.synchronize"]} == {"failed"}
    timed_rows = [row for row in rows if row["verdict"] == "passed" and row["placement"] == "on_device"]
    assert timed_rows
    assert all(row["steady_ms"] > 0 and row["cold_ms"] > 0 for row in timed_rows)
    assert "2 of 2 functions pass every case" in output
    assert (
        "1 function needs another device than this target and is excluded from the rates: torch.cuda.synchronize."
        in output
    )


@pytest.mark.level(2)
def test_two_releases_are_two_columns_of_one_matrix(portolan: Portolan, newer: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text(SECRET)
    serve = [sys.executable, "-m", "runners", "serve", "torch", "cpu", "--port", "0", "--python", newer]
    runner = RunnerProcess(command=serve, PORTOLAN_RUNNER_SECRET=SECRET)
    try:
        portolan.ask("runner", "register", runner.ready["url"], "--secret-file", str(secret))
        submit = ("submit", "--functions", "torch.lt torch.diag", "--targets", "torch/cpu", "--runs", "1", "--wait")
        output = portolan.ask(*submit, "--timing", "off")
    finally:
        runner.stop()
    number, *table = output.splitlines()
    (heading,) = [line for line in table if "torch@" in line and "┃" in line]
    assert heading.split() == ["┃", "torch@2.9.0/cpu", "┃", "torch@2.15.0/cpu"]
    rows = json.loads(portolan.ask("results", number, "--format", "json"))
    assert {(row["version"], row["function"]) for row in rows if row["verdict"] == "passed"} == {
        (version, function) for version in ("2.9.0", "2.15.0") for function in ("torch.lt", "torch.diag")
    }
    # One revision of the suite, or its cases could not be compared.
    assert len({row["revision"] for row in rows}) == 1
    assert len({row["environment"] for row in rows}) == 2
    repeats = {row["version"]: row["repeat"] for row in rows}
    assert f" --python {newer}" in repeats["2.15.0"]
    assert "--python" not in repeats["2.9.0"]
