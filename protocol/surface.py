"""The file of a framework release's public surface, in JSON lines: a header, then one entry per line."""

from __future__ import annotations

import gzip
from io import BytesIO
from typing import Annotated, Literal

from pydantic import Field

from protocol.limits import Count, Line, Lines, LongText, Name
from protocol.model import Message

MAX_MODULES = 100_000

FORMAT: Literal[1] = 1
"""The version of this format and of the rule for public names."""

ModuleReasons = Annotated[dict[Line, Line], Field(max_length=MAX_MODULES)]
EntryKind = Literal["function", "class", "exception", "method", "classmethod", "staticmethod", "property"]


class SurfaceHeader(Message):
    """The header: the enumerated release, and the modules that could not be enumerated."""

    format: Literal[1]
    framework: Name
    version: Name
    python: Name
    modules: Count
    entries: Count
    excluded: ModuleReasons
    """Modules that were skipped, each with the reason."""
    failed: ModuleReasons
    """Modules that could not be imported, each with the error."""
    printed: Annotated[list[Line], Field(max_length=MAX_MODULES)]
    """Modules that printed something while they were imported."""


class SurfaceEntry(Message):
    """A function, a class or a member of a class."""

    name: Annotated[Line, Field(min_length=1)]
    """The canonical public name."""
    aliases: Lines
    kind: EntryKind
    bases: Lines
    """The public base classes of a class, the nearest first."""
    module: Line
    """The module that defines it; empty if unknown."""
    signature: LongText | None
    documented: bool
    deprecated: bool


def pack(content: bytes) -> bytes:
    """Compress the content. The result contains no time and no file name, so that equal content gives equal bytes."""
    sink = BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=sink, mtime=0) as stream:
        stream.write(content)
    return sink.getvalue()
