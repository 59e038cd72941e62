"""Everything that can go wrong on the coordinator's side, as one tree.

PortolanError
└── DatabaseError
    └── DirectoryHeldError

The message says what is wrong and what to do, in one line, and the command line prints it
as it is. Raised without a message, an error says its docstring.
"""

from __future__ import annotations

import inspect


class PortolanError(Exception):
    """Something went wrong that the person in front of the screen can do something about."""

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message or " ".join(inspect.getdoc(type(self)).split()))  # type: ignore[union-attr]


class DatabaseError(PortolanError):
    """The database cannot be used; its log says more."""


class DirectoryHeldError(DatabaseError):
    """The data directory is held by another portolan; stop that one or choose another directory."""
