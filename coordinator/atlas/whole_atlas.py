"""An atlas with all of its cases in memory. It is used for publications, and by a coordinator whose database has no
evidence."""

from __future__ import annotations

from coordinator.assess.evidence import EvidenceSet
from coordinator.atlas.overview import Atlas, atlas_of, column_of
from coordinator.atlas.uses import shipped_uses
from protocol.host_only import load_host_only


def whole_atlas(evidence: EvidenceSet) -> Atlas:
    """The atlas of this evidence, with all cases. Use ``collection`` for the evidence of a database, whose cases may
    not fit into memory."""
    host_only = load_host_only()
    columns = [column_of(target, host_only) for target in evidence.targets]
    return atlas_of(columns, shipped_uses(evidence.targets), evidence.origin)
