"""How often other people's code uses each function, taken from the counts that ship with Portolan."""

from __future__ import annotations

from collections.abc import Iterable

from coordinator.assess.evidence import TargetEvidence
from coordinator.atlas.overview import Uses
from coordinator.catalogue.releases import nearest, shipped_release, version_numbers


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
