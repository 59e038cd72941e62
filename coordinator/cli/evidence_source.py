"""Finds the evidence for a command: bundles, a file, a coordinator, or the evidence that ships with Portolan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from coordinator.assess import evidence_file
from coordinator.assess.evidence import EvidenceSet
from coordinator.assess.merging import complete
from coordinator.bundles.signature import Signers
from coordinator.cli.directory import DataDirectory
from coordinator.cli.shared_options import connect
from coordinator.configuration.variables import variables
from coordinator.errors import DatabaseError
from coordinator.targets.selectors import Selector

SHIPPED_DATA = Path("shipped")
"""The value of ``--data`` that means the shipped evidence, even if a coordinator runs."""


def find_evidence(
    data: Path | None,
    url: str | None,
    data_dir: Path | None,
    selector: Selector,
    bundles: Sequence[Path] = (),
    signers: Signers | None = None,
    *,
    is_completed: bool = True,
) -> EvidenceSet:
    """Return the evidence of the bundles or of the file, if they are named; otherwise a coordinator's evidence,
    otherwise the shipped evidence.

    If ``data`` is ``SHIPPED_DATA``, the shipped evidence is used and no coordinator is asked. With ``signers``, each
    bundle must have a signature of one of them. With ``is_completed``, the shipped evidence is added where a
    coordinator has none. If a coordinator has no evidence for the target, the shipped evidence is used even without
    ``is_completed``.
    """
    if bundles:
        # It imports the reader of bundles and the code that stores outcomes.
        from coordinator.assess.bundled import from_bundles

        targets = tuple(target for target in from_bundles(bundles, signers) if selector.matches(target))
        return EvidenceSet(targets, f"is from {len(bundles)} bundles" if len(bundles) > 1 else "is from a bundle")
    if data == SHIPPED_DATA:
        return evidence_file.load_shipped()
    if data is not None:
        return evidence_file.read(data.read_bytes(), str(data), f"from {data}")
    is_named = url is not None or data_dir is not None or variables().url is not None
    if not is_named and not _runs_here():
        return evidence_file.load_shipped()
    with connect(url, data_dir) as client:
        evidence = client.evidence(str(selector))
    if not is_named:
        evidence = replace(evidence, origin=f"{evidence.origin}, the coordinator that runs here")
    if evidence.targets and not is_completed:
        return evidence
    return complete(evidence, evidence_file.load_shipped())


def _runs_here() -> bool:
    try:
        return DataDirectory().running() is not None
    except DatabaseError:
        return False  # another user's instance
