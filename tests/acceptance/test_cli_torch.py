"""The main job with the real framework: PyTorch on the CPU, from the command line to the matrix.

The environment is the one that ``portolan-runner setup torch`` made; ``make test`` calls it first.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.portolan_process import Portolan


@pytest.fixture
def portolan(directory: Path) -> Iterator[Portolan]:
    portolan = Portolan(directory.parent)
    up = portolan.up("--targets", "torch/cpu", "--port", "0")
    try:
        assert "torch/cpu: runner ready, torch@" in up.said, "set the environment up first: portolan-runner setup torch"
        yield portolan
    finally:
        up.stop()


def test_functions_of_pytorch_are_charted_on_the_cpu(portolan: Portolan) -> None:
    functions = "torch.lt torch.diag torch.cuda.synchronize"
    shown = portolan.ask("submit", "--functions", functions, "--targets", "torch/cpu", "--runs", "1", "--wait")
    number = shown.splitlines()[0]
    rows = json.loads(portolan.ask("results", number, "--format", "json"))
    verdicts: dict[str, set[tuple[str, str | None]]] = {row["function"]: set() for row in rows}
    for row in rows:
        verdicts[row["function"]].add((row["verdict"], row["cause"]))
    assert verdicts["torch.lt"] == verdicts["torch.diag"] == {("passed", None)}
    assert {verdict for verdict, _ in verdicts["torch.cuda.synchronize"]} == {"failed"}
    timed = [row for row in rows if row["verdict"] == "passed" and row["placement"] == "on_device"]
    assert timed
    assert all(row["steady_ms"] > 0 and row["cold_ms"] > 0 for row in timed)
    assert "2 of 3 functions port" in shown
