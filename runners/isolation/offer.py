"""Keeps the catalogue that a zygote reported, as compressed text.

A catalogue of twenty thousand cases takes 100 MB as objects and 10 MB as text. So the zygote sends it in pieces, and it
is kept compressed. For every job, the service needs only the index.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from pydantic import TypeAdapter

from protocol.catalogue import Catalogue, CatalogueCase, CatalogueSuite
from protocol.enums import DEFAULT_TIMING, FIRST_USES, TimingPolicy
from protocol.limits import MAX_CASES, MAX_CATALOGUE_BYTES, MAX_SUITES

CHUNK = 1 << 18
"""Number of bytes to decompress at once."""
LEVEL = 3
"""The compression level. It reduces the size to a tenth and takes 0.1 s at each start."""
_CASES = TypeAdapter(list[CatalogueCase])


@dataclass(frozen=True)
class SuiteIndex:
    """The parts of a suite that the service needs: its revision, the function of each case, and its timing policy."""

    revision: str
    functions: Mapping[str, str]
    timing: TimingPolicy = DEFAULT_TIMING
    first_use_cases: frozenset[str] = frozenset()
    """The cases that decide how their process first uses the device (``FirstUse``)."""


@dataclass(frozen=True)
class Offer:
    """The catalogue of a boot, and its index."""

    suites: Mapping[str, SuiteIndex]
    size: int
    """The size of the catalogue's JSON in bytes, uncompressed."""
    compressed: bytes

    def text(self) -> Iterator[bytes]:
        """Yield the catalogue's JSON in pieces."""
        decompressor = zlib.decompressobj()
        rest = self.compressed
        while rest:
            yield decompressor.decompress(rest, CHUNK)
            rest = decompressor.unconsumed_tail
        yield decompressor.flush()

    def catalogue(self) -> Catalogue:
        """Return the catalogue as objects. Only short commands use this, because it takes much memory."""
        return Catalogue.model_validate_json(b"".join(self.text()))


@dataclass
class _OpenSuite:
    name: str
    revision: str
    timing: TimingPolicy
    functions: dict[str, str] = field(default_factory=dict)
    first_use_cases: set[str] = field(default_factory=set)
    size: int = 0
    """The number of cases. Cases with equal ids count separately."""


class OfferBuilder:
    """Builds an offer from pieces, each with some of the cases of one suite."""

    def __init__(self) -> None:
        self._suites: dict[str, SuiteIndex] = {}
        self._suite: _OpenSuite | None = None
        self._suite_count = 0
        self._compressor = zlib.compressobj(LEVEL)
        self._compressed: list[bytes] = []
        self._size = 0
        self._write(b'{"suites":[')

    def add(self, piece: CatalogueSuite) -> None:
        """Add the next cases of a suite. Raises ``ValueError`` if there are more than a catalogue may have."""
        suite = self._suite
        if suite is None or (suite.name, suite.revision) != (piece.name, piece.revision):
            suite = self._begin(piece)
        elif piece.cases and suite.size:
            self._write(b",")
        suite.size += len(piece.cases)
        if suite.size > MAX_CASES:
            raise ValueError(f"suite {piece.name!r} has more than {MAX_CASES:,} cases: make several suites of it")
        # Interned, so that all cases of a function share one string for its name.
        suite.functions.update((case.id, sys.intern(case.function)) for case in piece.cases)
        suite.first_use_cases.update(case.id for case in piece.cases if not FIRST_USES.isdisjoint(case.tags))
        self._write(_CASES.dump_json(piece.cases)[1:-1])
        if self._size > MAX_CATALOGUE_BYTES:
            raise ValueError(f"it has more than {MAX_CATALOGUE_BYTES >> 20} MiB: offer fewer cases, or shorter tags")

    def build(self) -> Offer:
        self._end()
        self._write(b"]}")
        content = b"".join([*self._compressed, self._compressor.flush()])
        return Offer(self._suites, self._size, content)

    def _begin(self, piece: CatalogueSuite) -> _OpenSuite:
        self._end()
        self._suite_count += 1
        if self._suite_count > MAX_SUITES:
            raise ValueError(f"it has more than {MAX_SUITES:,} suites: serve fewer suites")
        head = piece.model_copy(update={"cases": []}).model_dump_json().encode()
        self._write(b"," * (self._suite_count > 1) + head.removesuffix(b"]}"))
        self._suite = _OpenSuite(piece.name, piece.revision, piece.timing or DEFAULT_TIMING)
        return self._suite

    def _end(self) -> None:
        if self._suite is not None:
            self._write(b"]}")
            suite, self._suite = self._suite, None
            self._suites[suite.name] = SuiteIndex(
                suite.revision, suite.functions, suite.timing, frozenset(suite.first_use_cases)
            )

    def _write(self, text: bytes) -> None:
        self._size += len(text)
        self._compressed.append(self._compressor.compress(text))
