"""All kinds of faults, grouped by the affected part."""

from __future__ import annotations

from tests.faults.matrix.fault import Fault
from tests.faults.matrix.kinds import clocks, coordinators, disks, network, postgresql, runners

KINDS: tuple[type[Fault], ...] = (
    *coordinators.KINDS,
    *postgresql.KINDS,
    *runners.KINDS,
    *network.KINDS,
    *clocks.KINDS,
    *disks.KINDS,
)
BY_NAME: dict[str, type[Fault]] = {kind.name: kind for kind in KINDS}
