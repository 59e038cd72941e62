"""Runs the fault matrix for one minute, with kinds of faults in an order drawn from the seed of the change.

At level 2 it runs for three minutes. ``PORTOLAN_FAULT_MINUTES`` sets the duration, ``PORTOLAN_FAULT_SEED`` the order.
``python -m tests.faults.matrix --seed SEED`` repeats a schedule.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import levels
from tests.faults.matrix.fault import Component
from tests.faults.matrix.kinds import KINDS
from tests.faults.matrix.plan import schedule
from tests.faults.matrix.trial import Trial, progress
from tests.faults.matrix.world import World

MINUTES = {1: "1", 2: "3"}
"""Minutes by level."""
ENDS_S = 30.0
"""The usual time that the last campaigns of a trial need after its last fault."""
LONGEST_IN_CI_S = 20.0
"""Kinds that last longer run only in longer trials, which are started by hand."""


@pytest.fixture(scope="module")
def seconds() -> float:
    return 60.0 * float(os.environ.get("PORTOLAN_FAULT_MINUTES", MINUTES[levels.LEVEL]))


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    folder = Path(tempfile.mkdtemp(prefix="portolan-matrix-"))
    folder.chmod(0o711)
    world = World(folder)
    yield world
    world.close()
    shutil.rmtree(folder)


def hold(world: World, seed: int, seconds: float) -> None:
    began = time.monotonic()
    kinds = [kind for kind in KINDS if kind.lasts_s <= max(LONGEST_IN_CI_S, seconds / 8)]
    verdict = Trial(world, seed, schedule(kinds, seed, seconds)).hold(max(10.0, seconds - ENDS_S))
    print(*progress(verdict), f"in {time.monotonic() - began:.0f} s", sep="\n")
    assert verdict.jobs, "nothing was at work"
    assert verdict.faults, "nothing befell"
    assert not verdict.violations, "\n".join(progress(verdict))


def test_no_fault_breaks_a_promise(world: World, seconds: float) -> None:
    seed = int(os.environ.get("PORTOLAN_FAULT_SEED") or zlib.crc32(levels.seed().encode()))
    print(f"the faults are those of seed {seed}")
    hold(world, seed, seconds)


def test_there_are_at_least_thirty_kinds_over_all_places() -> None:
    assert len({kind.name for kind in KINDS}) == len(KINDS) >= 30
    assert {kind.place for kind in KINDS} == set(Component)
