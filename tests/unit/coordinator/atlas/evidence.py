"""Handmade atlases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from coordinator.assess.evidence import CaseEvidence, TargetEvidence
from coordinator.atlas.overview import Atlas, atlas_of, column_of
from coordinator.results.conditions import End
from protocol.enums import Ending
from tests.unit.coordinator.assess.cases import case, target

Ends = Mapping[str, Sequence[End]]


def charted_target(
    functions: Ends, version: str = "2.9.0", device: str = "xla", hardware: str = "AMD EPYC"
) -> TargetEvidence:
    """A target on which the cases of each function have these endings."""
    cases: dict[str, list[CaseEvidence]] = {
        name: [case(f"{number}", end) for number, end in enumerate(ends)] for name, ends in functions.items()
    }
    return target(cases, version, device=device, hardware=hardware)


def wrong(name: str) -> CaseEvidence:
    """A case that returns wrong values without an error."""
    return case(name, "failed", ending=Ending.mismatched)


def atlas(*targets: TargetEvidence, uses: Mapping[str, int] | None = None, host_only: Sequence[str] = ()) -> Atlas:
    columns = [column_of(target, frozenset(host_only)) for target in targets]
    return atlas_of(columns, {"torch": uses or {}}, "is made by hand")
