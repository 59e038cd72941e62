"""The public surface of a framework's release as a file: lines of JSON, a header first, then an entry a line."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from protocol.model import Message

FORMAT: Literal[1] = 1
"""The number of this form, and of the rule by which it was made."""

EntryKind = Literal["function", "class", "exception", "method", "classmethod", "staticmethod", "property"]


class SurfaceHeader(Message):
    """The release that was walked, and the modules that could not be."""

    format: Literal[1]
    framework: str
    version: str
    python: str
    modules: int
    entries: int
    excluded: dict[str, str]
    """Modules that are not entered, each with the reason."""
    failed: dict[str, str]
    """Modules that could not be imported, each with how it ended."""
    printed: list[str]
    """Modules that printed something when they were imported."""


class SurfaceEntry(Message):
    """A function, a class or a member of one."""

    name: str = Field(min_length=1)
    """The canonical one of its public names."""
    aliases: list[str]
    kind: EntryKind
    bases: list[str]
    """The public classes from which a class inherits, the nearest first."""
    module: str
    """The module in which it is defined; empty where it does not say."""
    signature: str | None
    documented: bool
    deprecated: bool
