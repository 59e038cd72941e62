"""An atlas with all of its cases in memory. A publication uses it, and a coordinator whose database has no evidence."""

from __future__ import annotations

from coordinator.assess.evidence import EvidenceSet
from coordinator.atlas.overview import Atlas, atlas_of, column_of
from coordinator.atlas.uses import shipped_uses
from protocol.host_only import load_host_only


def whole_atlas(evidence: EvidenceSet) -> Atlas:
    """The atlas of this evidence. The cases of a database may not fit into memory; use ``collection`` for a
    database."""
    host_only = load_host_only()
    columns = [column_of(target, host_only) for target in evidence.targets]
    return atlas_of(columns, shipped_uses(evidence.targets), evidence.origin)
