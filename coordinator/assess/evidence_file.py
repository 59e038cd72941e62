"""Evidence files: one compressed JSON document each. One file ships with Portolan; ``GET /evidence`` sends the same
format.

A document is rejected if its ``format`` is newer than ``FORMAT``. Unknown members of a document with the current format
are ignored.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from importlib.metadata import version
from importlib.resources import files
from typing import Literal

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from coordinator.assess.evidence import EvidenceSet, TargetEvidence
from coordinator.catalogue.surfaces import unpack
from coordinator.errors import AssessmentError
from coordinator.operating_system.free_memory import return_free_memory
from protocol.model import first_fault
from protocol.surface import pack

FORMAT: Literal[3] = 3
"""The version of the format. It is increased when older versions of Portolan cannot read new files. Version 2 added
cases with the result ``accepted``, and version 3 the values of positional arguments. Older versions ignore the optional
operations of cases."""
SHIPPED = files("coordinator.assess") / "data" / "evidence.json.gz"
_MAKE = "portolan evidence FILE BUNDLE…"


class EvidenceMark(BaseModel):
    """The members that every version of the format has. They are checked first."""

    type: Literal["portolan-evidence"]
    format: int = Field(ge=1)
    portolan: str


@dataclass(frozen=True)
class EvidenceDocument:
    """The complete content of a file."""

    made_at: datetime
    portolan: str
    """The version of Portolan that wrote the file."""
    targets: tuple[TargetEvidence, ...]
    type: Literal["portolan-evidence"] = "portolan-evidence"
    format: Literal[1, 2, 3] = FORMAT


_DOCUMENT = TypeAdapter(EvidenceDocument)


def document_of(targets: Sequence[TargetEvidence], made_at: datetime) -> bytes:
    """The document as JSON. Equal evidence gives equal bytes."""
    in_order = [replace(target, functions=dict(sorted(target.functions.items()))) for target in targets]
    document = EvidenceDocument(made_at, version("portolan"), tuple(in_order))
    return _DOCUMENT.dump_json(document, exclude_defaults=True).replace(
        b"{", b'{"type":"portolan-evidence","format":%d,' % FORMAT, 1
    )


def compress(targets: Sequence[TargetEvidence], made_at: datetime) -> bytes:
    """Compress a document into the content of an evidence file."""
    return pack(document_of(targets, made_at))


def read(content: bytes, name: str, origin: str) -> EvidenceSet:
    """Read a compressed or uncompressed document. Raises ``AssessmentError`` with one line that names the file."""
    try:
        plain = unpack(content)
        mark = EvidenceMark.model_validate_json(plain)
    except (ValueError, OSError, EOFError, zlib.error, gzip.BadGzipFile):
        raise AssessmentError(f"{name} is not an evidence file of Portolan: create one with `{_MAKE}`") from None
    if mark.format > FORMAT:
        raise AssessmentError(
            f"{name} has format {mark.format} (made by portolan {mark.portolan}), "
            f"and this portolan reads formats up to {FORMAT}: upgrade portolan"
        )
    try:
        document = _DOCUMENT.validate_json(plain, context={})
    except ValidationError as error:
        raise AssessmentError(
            f"{name} was changed and is not valid evidence ({first_fault(error)}): create it again with `{_MAKE}`"
        ) from None
    # The parser's own objects take five times as much memory as the evidence.
    return_free_memory()
    _require_charts(document, name)
    return EvidenceSet(document.targets, origin, document.made_at)


def load_shipped() -> EvidenceSet:
    """The evidence that ships with Portolan."""
    evidence = read(SHIPPED.read_bytes(), "the evidence that ships with Portolan", "ships with Portolan")
    targets = tuple(
        replace(target, charts=tuple(replace(chart, ships=True) for chart in target.charts))
        for target in evidence.targets
    )
    return replace(evidence, targets=targets)


def _require_charts(document: EvidenceDocument, name: str) -> None:
    for target in document.targets:
        chart_numbers = range(len(target.charts))
        cases = (case for own in target.functions.values() for case in own)
        numbers = {number for case in cases for number in (case.chart, *case.disagreeing)}
        if not target.charts or not all(number in chart_numbers for number in numbers):
            raise AssessmentError(
                f"{name} was changed and names a chart that it does not have: create it again with `{_MAKE}`"
            )
