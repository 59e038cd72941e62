"""Users' own suites for JAX: the example of the how-to, and a suite that uses the device while it is imported."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from protocol.enums import Verdict
from runners import own_suites
from runners.jax import FRAMEWORK
from runners.jax.devices import Cpu
from tests.frameworks.common.running import run

ROOT = Path(__file__).resolve().parents[3]
EXAMPLE = ROOT / "examples" / "vendor-kernels"
CPU = Cpu()


def test_the_cases_of_the_example_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(EXAMPLE)
    suite = own_suites.load(FRAMEWORK, [str(EXAMPLE / "vendor_kernels" / "suite.py")])["suite"]
    outcomes = {case.id: run(CPU, case) for case in suite.cases}
    assert len(outcomes) == 4
    assert {outcome.verdict for outcome in outcomes.values()} == {Verdict.passed}, outcomes


def test_the_device_is_in_use_once_an_array_is_made() -> None:
    """This test uses a separate process, because the test process has already used the device."""
    program = (
        "import jax.numpy; from runners.jax.devices import Cpu; cpu = Cpu(); before = cpu.is_in_use(); "
        "jax.numpy.ones(3); print(before, cpu.is_in_use())"
    )
    answer = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert answer.stdout == "False True\n"
