"""An atlas with all of its cases in memory, and the uses of functions that every atlas shows. Such an atlas is used for
publications, and by a coordinator whose database has no evidence."""

from __future__ import annotations

from collections.abc import Iterable

from coordinator.assess.evidence import EvidenceSet, TargetEvidence
from coordinator.atlas.overview import Atlas, Uses, atlas_of, column_of
from coordinator.catalogue.releases import nearest, shipped_release, version_numbers
from protocol.host_only import load_host_only


def whole_atlas(evidence: EvidenceSet) -> Atlas:
    """The atlas of this evidence, with all cases. Use ``collection`` for the evidence of a database, whose cases may
    not fit into memory."""
    host_only = load_host_only()
    columns = [column_of(target, host_only) for target in evidence.targets]
    return atlas_of(columns, shipped_uses(evidence.targets), evidence.origin)


def shipped_uses(targets: Iterable[TargetEvidence]) -> Uses:
    """For each framework, the number of uses that surely mean each function, summed over all names that the function
    has in the newest charted version."""
    newest: dict[str, str] = {}
    for target in targets:
        before = newest.get(target.framework)
        if before is None or version_numbers(target.version) > version_numbers(before):
            newest[target.framework] = target.version
    releases = {framework: nearest(framework, version) for framework, version in newest.items()}
    return {
        framework: {name: sum(uses.values()) for name, uses in shipped_release(release).certain.items()}
        for framework, release in releases.items()
        if release is not None
    }
