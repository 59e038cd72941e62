"""A disk for an embedded server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from coordinator.database.embedded import stop_leftovers
from tests.small_disk import SmallDisk


@pytest.fixture
def small_disk(place: Path) -> Iterator[SmallDisk]:
    disk = SmallDisk(place / "disk", 20 << 20, "0711")
    if not disk.mounted:
        pytest.skip("cannot mount a small disk: needs root and CAP_SYS_ADMIN")
    yield disk
    stop_leftovers(disk.path)
    disk.close()
