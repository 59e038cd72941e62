"""Lock files without some of their packages."""

from __future__ import annotations

from runners.cli import locks

LOCK = """# Made by hand.
numpy==2.3.0 \\
    --hash=sha256:00 \\
    --hash=sha256:01
nvidia-cublas-cu12==12.8 ; sys_platform == 'linux' \\
    --hash=sha256:02
    # via torch
Nvidia_NCCL==2.27 --hash=sha256:03
torch==2.9.0 \\
    --hash=sha256:04
"""


def test_a_package_goes_with_all_its_lines() -> None:
    left = locks.without(LOCK, "nvidia-.*|triton")
    assert locks.names(left) == ["numpy", "torch"]
    assert left.splitlines() == [
        line for line in LOCK.splitlines() if not any(name in line for name in ("idia", ":02", "via"))
    ]


def test_a_lock_that_has_none_of_them_stays_as_it_is() -> None:
    assert locks.without(LOCK, "cuda-.*") == LOCK
    assert locks.names(LOCK) == ["numpy", "nvidia-cublas-cu12", "nvidia-nccl", "torch"]
    assert locks.without("", ".*") == ""
