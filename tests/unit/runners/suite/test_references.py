"""What NumPy computes, it computes on one thread, in forked processes too."""

from __future__ import annotations

import subprocess
import sys

CODE = """
import os, sys
import numpy as np
from runners.isolation.numpy_threads import compute_on_one_thread

assert compute_on_one_thread()
if os.fork() == 0:
    ones = np.ones((500, 500))
    assert (ones @ ones == 500).all()
    print(len(os.listdir("/proc/self/task")))
    sys.stdout.flush()
    os._exit(0)
os.wait()
"""


def test_a_product_starts_no_thread() -> None:
    process = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    assert process.stdout.split() == ["1"]


def test_without_numpy_there_is_nothing_to_hold() -> None:
    code = "from runners.isolation.numpy_threads import compute_on_one_thread; print(compute_on_one_thread())"
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert process.stdout.split() == ["False"]
