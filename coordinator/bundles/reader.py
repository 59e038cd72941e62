"""Reads bundles. A bundle is checked to its last byte before any part of it is used.

``check`` accepts only a complete, unchanged bundle of a known format. Otherwise it gives the reason in one line.
``outcomes`` then reads the checked bundle again, without loading all of it into memory.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, BinaryIO

from pydantic import Field, TypeAdapter, ValidationError

from coordinator.errors import BundleError, BundleTooLargeError
from protocol import PROTOCOL_VERSION
from protocol.bundle import (
    FORMAT,
    MAX_BYTES,
    MAX_LINE_BYTES,
    BundledOutcome,
    BundleEnd,
    BundleHeader,
    BundleMark,
)
from protocol.model import first_fault

COPY_AGAIN = "copy it again from the machine that wrote it"
HOW_TO_MAKE = "`portolan-runner run … --out FILE`"

_LINE: TypeAdapter[BundledOutcome | BundleEnd] = TypeAdapter(
    Annotated[BundledOutcome | BundleEnd, Field(discriminator="type")]
)


@dataclass(frozen=True)
class Bundle:
    """A checked bundle: its header, its checksum and the time of its last outcome."""

    header: BundleHeader
    sha256: str
    ended_at: datetime


def check(file: BinaryIO) -> Bundle:
    """Read and check the whole file. Raises ``BundleError``."""
    file.seek(0)
    first = _next_line(file, 1)
    header = _header(first)
    positions = {case.id: number for number, case in enumerate(header.suite.cases)}
    if not positions or len(positions) != len(header.suite.cases):
        fault = "the same case twice" if positions else "no case"
        raise BundleError(f"the header of the bundle names {fault}: {COPY_AGAIN}")
    digest = hashlib.sha256(first)
    there = bytearray(header.outcomes)
    ended_at = header.begun_at
    number = 1
    while True:
        number += 1
        line = _next_line(file, number)
        entry = _entry(line, number)
        if isinstance(entry, BundleEnd):
            break
        position = positions.get(entry.case)
        if position is None or entry.run > header.runs:
            raise BundleError(
                f"line {number} of the bundle has case {entry.case}, run {entry.run}, which its header does not list: "
                f"{COPY_AGAIN}"
            )
        place = (entry.run - 1) * len(positions) + position
        if there[place]:
            raise BundleError(
                f"line {number} of the bundle has a second outcome of case {entry.case}, run {entry.run}: {COPY_AGAIN}"
            )
        there[place] = 1
        ended_at = max(ended_at, entry.finished_at)
        digest.update(line)
    if file.read(1):
        raise BundleError(f"the bundle was changed, because it continues after its last line, {number}: {COPY_AGAIN}")
    if digest.hexdigest() != entry.sha256:
        raise BundleError(f"the checksum of the bundle does not match its content: {COPY_AGAIN}")
    if entry.outcomes != number - 2 or not all(there):
        raise BundleError(
            f"the bundle is incomplete, because it has {sum(there):,} of {len(there):,} outcomes: "
            "repeat the command that wrote it, with the same FILE"
        )
    return Bundle(header, entry.sha256, ended_at)


def outcomes(file: BinaryIO) -> Iterator[BundledOutcome]:
    """Yield the outcomes of a checked bundle, in the order in which they finished."""
    file.seek(0)
    file.readline()
    for line in file:
        entry = _LINE.validate_json(line)
        if isinstance(entry, BundledOutcome):
            yield entry


def require_size(size: int, limit: int = MAX_BYTES) -> None:
    """Raise ``BundleTooLargeError`` for a size above the limit."""
    if size > limit:
        raise BundleTooLargeError(
            f"the bundle is larger than the limit of {limit >> 20:,} MiB: write fewer functions or runs into each file"
        )


def _next_line(file: BinaryIO, number: int) -> bytes:
    line = file.readline(MAX_LINE_BYTES + 1)
    if len(line) > MAX_LINE_BYTES:
        raise BundleError(
            f"the file is not a bundle, because its line {number} is longer than any line of a bundle: "
            f"create one with {HOW_TO_MAKE}"
        )
    if not line.endswith(b"\n") and number > 1:
        raise BundleError(f"the bundle is cut off in line {number}: copy it again, or continue the run that wrote it")
    return line


def _header(line: bytes) -> BundleHeader:
    try:
        mark = BundleMark.model_validate_json(line)
    except ValidationError:
        raise BundleError(f"the file is not a bundle: create one with {HOW_TO_MAKE}") from None
    if mark.format > FORMAT:
        raise BundleError(
            f"the bundle has format {mark.format} (made by portolan {mark.portolan}), and this portolan reads formats "
            f"up to {FORMAT}: upgrade portolan"
        )
    try:
        header = BundleHeader.model_validate_json(line)
    except ValidationError as error:
        raise BundleError(
            f"line 1 of the bundle, its header, is not valid ({first_fault(error)}): "
            f"{COPY_AGAIN}, or correct the runner that wrote it"
        ) from None
    if header.runner.protocol != PROTOCOL_VERSION:
        raise BundleError(
            f"the outcomes of the bundle are in protocol {header.runner.protocol}, and this portolan reads protocol "
            f"{PROTOCOL_VERSION}: use the same release for Portolan and the runner"
        )
    return header


def _entry(line: bytes, number: int) -> BundledOutcome | BundleEnd:
    try:
        return _LINE.validate_json(line)
    except ValidationError as error:
        # The location begins with the name of the union's member, which is also the name of one of its fields.
        fault = first_fault(error).removeprefix("outcome.").removeprefix("end.")
        raise BundleError(
            f"line {number} of the bundle is not a valid outcome ({fault}): "
            f"{COPY_AGAIN}, or correct the runner that wrote it"
        ) from None
