"""Decides the placement of a case from its proof, or why the placement is unknown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from protocol.enums import Placement, Unproven, is_work_of_host
from runners.suite.cases import Case
from runners.suite.checks import Leaf
from runners.suite.device import Device, Proof

HOST_ARRAYS = " (host arrays)"
"""The suffix of a fallback's name if the operation had arrays on the host as inputs."""


@dataclass(frozen=True)
class ProvenPlacement:
    """A placement, with the reason if it is unknown."""

    placement: Placement
    unproven: Unproven | None = None

    @property
    def is_of_host(self) -> bool:
        """Whether the host did the work, as far as is known. Then the time says nothing about the device."""
        return is_work_of_host(self.placement, self.unproven)


def place(device: Device, case: Case, proof: Proof, arrays: Sequence[Leaf]) -> ProvenPlacement:
    """Decide where the work ran, from the arrays, fallbacks and executions that were observed.

    ``arrays`` are the arrays of the result. If the host itself is the target, there are no fallbacks, and executions
    need no proof.
    """
    if case.host_only is not None:
        return ProvenPlacement(Placement.host_only)
    if case.refuses:
        return ProvenPlacement(Placement.unknown, Unproven.refuses)
    if not device.is_host and (proof.fallbacks or _is_brought_to_host(device, case, arrays)):
        return ProvenPlacement(Placement.fell_back)
    missing = _missing(device, proof)
    return ProvenPlacement(Placement.on_device) if missing is None else ProvenPlacement(Placement.unknown, missing)


def _is_brought_to_host(device: Device, case: Case, arrays: Sequence[Leaf]) -> bool:
    """Whether an array of the result is not on the device, although the case's own code does not request the host."""
    if getattr(case.prepare, "names_host", False):
        return False
    return not all(device.on_device(array.device) for array in arrays)


def _missing(device: Device, proof: Proof) -> Unproven | None:
    """Return the first missing part of the proof, or None if the proof is complete."""
    if not proof.devices:
        return Unproven.no_time if Unproven.no_time in proof.doubts else Unproven.no_array
    if not device.is_host:
        if not all(map(device.on_device, proof.devices)):
            return Unproven.array_elsewhere
        if not proof.executed and proof.doubts:
            return _first(proof.doubts)
        if proof.executed is None:
            return Unproven.executions_not_counted if proof.counted else Unproven.nobody_looked
        if proof.executed == 0:
            return Unproven.nothing_executed
    if not proof.counted:
        return _first(proof.doubts) if proof.doubts else Unproven.nobody_looked
    return None


def _first(doubts: set[Unproven]) -> Unproven:
    return next(doubt for doubt in Unproven if doubt in doubts)
