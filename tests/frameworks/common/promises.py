"""Promises of every device of every framework: arrays arrive unchanged, come back unchanged, and are waited for."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import runners
from runners.suite.device import Device
from runners.suite.rounding import rounded

ROOT = Path(runners.__file__).resolve().parents[1]
FLOATING = ("float64", "float32", "float16", "bfloat16")
COMPLEX = ("complex128", "complex64")
INTEGERS = ("int64", "int32", "int16", "int8", "uint8", "bool")
DTYPES = (*FLOATING, *COMPLEX, *INTEGERS)


def no_device(*files: str) -> bool:
    """Whether this machine has no device files of an accelerator."""
    return not any(Path(file).exists() for file in files)


NO_NVIDIA = no_device("/dev/nvidiactl")
NO_TPU = no_device("/dev/accel0", "/dev/vfio/0")


def assert_taken_back(device: Device, dtype: str) -> None:
    """Check that an array of a dtype comes back from this device with all values, in the same dtype."""
    values = np.linspace(-3, 3, 24).reshape(2, 3, 4)
    if dtype in FLOATING:
        expected = rounded(values, dtype)
    else:
        expected = values.astype(dtype) * ((1 + 2j) if dtype in COMPLEX else 1)
        expected = expected.astype(dtype)
    with device.scope(dtype):
        leaf = device.to_host(device.to_device(expected, dtype))
    np.testing.assert_array_equal(leaf.values.astype(expected.dtype), expected)
    assert leaf.dtype == dtype
    assert device.on_device(leaf.device)


def assert_only_floating_arrays_take_the_dtype(device: Device, dtype: str, kinds: list[str]) -> None:
    """Check that in a tree of int64, Boolean, complex and empty float64 arrays, only the floating-point arrays get the
    case's dtype."""
    tree = {"a": [np.arange(3), (np.array([True]), "word")], "b": np.array(1 + 2j), "c": np.zeros((0, 2))}
    with device.scope(dtype):
        leaves = device.to_host(device.to_device(tree, dtype))
    assert leaves["a"][1][1] == "word"
    assert [leaves["a"][0].dtype, leaves["a"][1][0].dtype, leaves["b"].dtype, leaves["c"].dtype] == kinds
    assert (leaves["b"].values.shape, leaves["c"].values.shape) == ((), (0, 2))


def assert_waits(device: Device, compute: Callable[[], Any], fetch: Callable[[Any], Any]) -> float:
    """Check that after the wait only the copy to the host, a small part of a long computation, remains.

    Returns the time that remains without a wait, divided by the time that remains after a wait. Other processes can
    delay a computation and its copy, or give an unawaited computation time to end. So the least disturbed of several
    rounds counts.
    """

    def seconds(*, wait: bool) -> tuple[float, float]:
        began = time.perf_counter()
        result = compute()
        if wait:
            device.wait(result)
        returned_at = time.perf_counter()
        fetch(result)
        return returned_at - began, time.perf_counter() - returned_at

    seconds(wait=True)
    rounds = [seconds(wait=True) for _ in range(3)]
    left = min(after for _, after in rounds)
    assert min(during for during, _ in rounds) > 3 * left
    return max(after for _, after in (seconds(wait=False) for _ in range(3))) / left


def assert_gone(device: Device, name: str, version: str) -> None:
    with pytest.raises(LookupError) as error:
        device.lookup(name)
    assert str(error.value) == f"{device.framework} {version} has no {name}"


def in_a_process(code: str, **variables: str) -> str:
    """The output of a new process in this environment."""
    answer = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        cwd=ROOT,
        env=dict(os.environ) | variables,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    return answer.stdout.strip()


def assert_forkable(framework: str, device: str) -> None:
    """Check that a forked child can open the device after ``device()`` has imported the framework, as in the zygote."""
    code = (
        f"import os; from runners.{framework} import FRAMEWORK as framework\n"
        f"os.environ.update(framework.devices[{device!r}].variables)\n"
        f"device = framework.load_device({device!r})\n"
        "framework.load_suites()\n"
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    device.prime()\n"
        "    os._exit(7)\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))\n"
    )
    assert in_a_process(code) == "7"


def assert_refused_at_start(framework: str, device: str, words: str) -> None:
    """Check that a runner whose device is missing reports this in one line, ends with exit code 2, and announces
    nothing."""
    answer = subprocess.run(
        [sys.executable, "-P", "-m", "runners", "serve", framework, device, "--port", "0"],
        env={key: value for key, value in os.environ.items() if key not in VARIABLES} | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (answer.returncode, answer.stdout) == (2, ""), answer.stderr
    (line,) = answer.stderr.splitlines()
    assert line.startswith(f"portolan-runner: {framework}/{device} is not available here: ")
    assert words in line


VARIABLES = ("JAX_PLATFORMS", "PJRT_DEVICE", "CUDA_VISIBLE_DEVICES")
"""The variables with which the test process was started. A runner sets its own."""


def assert_the_wheel(module: ModuleType) -> None:
    """Check that ``import`` finds the framework and not the folder of ``runners`` with the same name."""
    assert module.__file__ is not None
    assert "site-packages" in Path(module.__file__).parts
    assert ROOT not in Path(module.__file__).resolve().parents


def assert_told_without_import(framework: str, devices: list[str]) -> None:
    """Check that the devices are known before the framework is imported."""
    code = (
        f"import sys; from runners.{framework} import FRAMEWORK\n"
        f"print(sorted(FRAMEWORK.devices), {framework!r} in sys.modules)"
    )
    assert in_a_process(code) == f"{devices} False"
