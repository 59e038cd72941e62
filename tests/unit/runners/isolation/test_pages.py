"""Which memory may become huge pages, and that it stays what it was."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys

from runners.isolation import pages

HUGE = pages.HUGE

MAPS = """\
00400000-00800000 r-xp 00000000 fd:00 42                                 /usr/bin/python3
{heap:x}-{heap_end:x} rw-p 00000000 00:00 0                              [heap]
7f0000000000-7f0000300000 rw-p 00000000 00:00 0
7f0000400000-7f0000800000 rw-p 00001000 fd:00 43                         /usr/lib/libtorch_cpu.so
7f0000800000-7f0000c00000 r--p 00000000 00:00 0
7f0000c00000-7f0001000000 rw-s 00000000 00:01 44                         /dev/zero (deleted)
7ffc00000000-7ffc00400000 rw-p 00000000 00:00 0                          [stack]
"""


def test_only_whole_huge_pages_of_private_anonymous_memory_are_asked_for() -> None:
    heap = 10 * HUGE + 4_096
    ranges = list(pages.private(MAPS.format(heap=heap, heap_end=heap + 3 * HUGE)))
    assert ranges == [(11 * HUGE, 2 * HUGE), (0x7F0000000000, HUGE)]


IN_A_PROCESS_OF_ITS_OWN = """
import mmap, re
from runners.isolation import pages
def huge():
    return int(re.search(r"AnonHugePages: +(\\d+)", open("/proc/self/smaps_rollup").read())[1]) * 1024
held = mmap.mmap(-1, 8 * pages.HUGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
written = bytes(range(256)) * (len(held) // 256)
held[:] = written
pages.make_huge()
print(huge(), held[:] == written)
"""


def test_what_was_written_stands_in_huge_pages_afterwards() -> None:
    output = subprocess.run(
        [sys.executable, "-c", IN_A_PROCESS_OF_ITS_OWN], capture_output=True, text=True, check=True
    ).stdout
    huge, same = output.split()
    assert same == "True"
    assert int(huge) >= 7 * HUGE or not _kernel_can()


def _kernel_can() -> bool:
    version = re.match(r"(\d+)\.(\d+)", platform.release())
    assert version is not None
    here = os.path.isdir("/sys/kernel/mm/transparent_hugepage") and platform.machine() == "x86_64"
    return here and (int(version[1]), int(version[2])) >= (6, 1)
