"""Limits NumPy, which computes most references, to one thread.

After each matrix product, the threads of NumPy's OpenBLAS spin for 20 ms on cores that the framework needs next: a
first matrix product of torch took 15 ms instead of 1 ms. SciPy has its own OpenBLAS. This keeps its threads, because
JAX uses it to compute on the host.
"""

from __future__ import annotations

import ctypes
from pathlib import Path

FOLDER = "numpy.libs"
"""The folder of NumPy's wheel for its own libraries."""
CALLS = ("scipy_openblas_set_num_threads64_", "openblas_set_num_threads64_")
"""The names of the function that sets the number of threads, in newer and in older wheels."""


def compute_on_one_thread() -> bool:
    """Limit NumPy to one thread in this process and its forks. Returns False if NumPy does not use OpenBLAS."""
    for path in _loaded_libraries():
        library = ctypes.CDLL(path)
        for name in CALLS:
            if hasattr(library, name):
                getattr(library, name)(1)
                return True
    return False


def _loaded_libraries() -> set[str]:
    files = (line.split(maxsplit=5)[-1].strip() for line in Path("/proc/self/maps").read_text().splitlines())
    return {library for library in files if "openblas" in library and Path(library).parent.name == FOLDER}
