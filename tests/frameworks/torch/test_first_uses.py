"""Cases that decide how their process first uses the device, each in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from protocol.enums import FIRST_USES, FirstUse
from runners.suite.device import Device
from runners.torch import FRAMEWORK
from runners.torch.suites.library import WITH_FIRST_USES

ROOT = Path(__file__).resolve().parents[3]
SCRIPT = """
import os, sys

from runners.torch import FRAMEWORK

name, first_use, *ids = sys.argv[1:]
os.environ.update(FRAMEWORK.devices[name].variables)
from runners.isolation.first_use import use_first
from tests.frameworks.common.running import run

device = FRAMEWORK.load_device(name)
cases = {case.id: case for case in FRAMEWORK.load_suites()["library"].cases}
(case,) = [case for case in cases.values() if case.function == "torch.matmul" and first_use in case.tags]
is_in_use = hasattr(device, "is_in_use") and device.is_in_use()
use_first(device, case)
print(is_in_use, hasattr(device, "is_in_use") and device.is_in_use(), run(device, case).ending)
"""


def observe(device: str, first_use: FirstUse) -> list[str]:
    command = [sys.executable, "-c", SCRIPT, device, first_use.value]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()


def test_ten_functions_have_a_case_of_each_first_use() -> None:
    cases = [case for suite in ("library", "library_quick") for case in FRAMEWORK.load_suites()[suite].cases]
    frequencies = Counter((case.function, tag) for case in cases for tag in FIRST_USES & set(case.tags))
    assert set(frequencies) == {(name, tag) for name in WITH_FIRST_USES for tag in FIRST_USES}
    assert set(frequencies.values()) == {2}


@pytest.mark.parametrize(("first_use", "is_in_use", "ending"), [
    (FirstUse.host_first, "True", "raised"),
    (FirstUse.thread_first, "True", "returned"),
    (FirstUse.unprimed, "False", "returned"),
])  # fmt: skip
def test_a_backward_pass_on_the_host_before_the_device_is_used_breaks_that_of_the_device(
    xla: Device, first_use: FirstUse, is_in_use: str, ending: str
) -> None:
    assert observe("xla", first_use) == ["False", is_in_use, ending]


def test_on_the_host_each_first_use_is_right() -> None:
    assert [observe("cpu", first_use)[2] for first_use in FirstUse] == ["returned"] * 3
