"""Finds the evidence for a command: bundles, a file, a coordinator, or the evidence that ships with Portolan."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

from coordinator.assess import evidence_file
from coordinator.assess.evidence import EvidenceSet
from coordinator.assess.merging import complete
from coordinator.bundles.signature import Signers, signature_file
from coordinator.cli.directory import DataDirectory
from coordinator.cli.shared_options import connect
from coordinator.configuration.variables import variables
from coordinator.errors import DatabaseError
from coordinator.figures.formats import join_words
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
    with_cpu: bool = False,
) -> EvidenceSet:
    """Return the evidence of the bundles or of the file, if they are named; otherwise a coordinator's evidence,
    otherwise the shipped evidence.

    If ``data`` is ``SHIPPED_DATA``, the shipped evidence is used and no coordinator is asked. ``signers`` decide which
    bundles and files are accepted. Bundles need ``signers``. A file is also read without them; then the origin of the
    evidence says that the file is unsigned or not checked. With ``is_completed``, the shipped evidence is added where a
    coordinator has none. If a coordinator has no evidence for the target, the shipped evidence is used even without
    ``is_completed``. The CPU, with which other devices are compared, is left out unless ``with_cpu``; the shipped
    evidence has none.
    """
    if bundles:
        assert signers is not None
        return _read_bundles(bundles, signers, selector, with_cpu=with_cpu)
    if data == SHIPPED_DATA:
        return evidence_file.load_shipped()
    if data is not None:
        return _read_file(data, signers)
    is_named = url is not None or data_dir is not None or variables().url is not None
    if not is_named and not _runs_here():
        return evidence_file.load_shipped()
    with connect(url, data_dir) as client:
        evidence = client.evidence(str(selector), with_cpu=with_cpu)
    if not is_named:
        evidence = replace(evidence, origin=f"{evidence.origin}, the coordinator that runs here")
    if evidence.targets and not is_completed:
        return evidence
    return complete(evidence, evidence_file.load_shipped())


def _read_bundles(bundles: Sequence[Path], signers: Signers, selector: Selector, *, with_cpu: bool) -> EvidenceSet:
    # It imports the reader of bundles and the code that stores outcomes.
    from coordinator.assess.bundled import from_bundles

    signer_by_bundle = {bundle: signers.signer_of(bundle) for bundle in bundles}
    evidence = from_bundles(bundles, signer_by_bundle, with_cpu=with_cpu)
    targets = tuple(target for target in evidence if selector.matches(target))
    source = f"{len(bundles)} bundles" if len(bundles) > 1 else "a bundle"
    return EvidenceSet(targets, f"from {source}, {_signature(signer_by_bundle.values())}")


def _read_file(file: Path, signers: Signers | None) -> EvidenceSet:
    """The evidence of a file. If its signature is verified, its maker is the signer of all charts: the names in the
    file are only what the file says."""
    content = file.read_bytes()
    if signers is None:
        signature = "signature not checked" if signature_file(file).is_file() else "unsigned"
        return evidence_file.read(content, str(file), f"from {file}, {signature}")
    signer = signers.signer_of(file)
    evidence = evidence_file.read(content, str(file), f"from {file}, {_signature([signer])}")
    targets = [
        replace(
            target,
            charts=tuple(replace(chart, signed_by=signer, is_unsigned=signer is None) for chart in target.charts),
        )
        for target in evidence.targets
    ]
    return replace(evidence, targets=tuple(targets))


def _signature(signers: Collection[str | None]) -> str:
    """The signers of files in words. None is for an unsigned file."""
    names = sorted({signer for signer in signers if signer is not None})
    if not names:
        return "unsigned"
    return f"signed by {join_words(names)}{', partly unsigned' if None in signers else ''}"


def _runs_here() -> bool:
    try:
        return DataDirectory().running() is not None
    except DatabaseError:
        return False  # another user's instance
