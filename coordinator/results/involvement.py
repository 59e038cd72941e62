"""Involvement: how one of a framework's own operations can affect the result of a case. It does no I/O."""

from __future__ import annotations

from enum import StrEnum


class Met(StrEnum):
    """How an operation is involved in a case."""

    fell_back = "fell_back"
    """The case passed, and the framework silently ran the operation on the host."""
    failed = "failed"
    """The case failed at the operation."""
    diverged = "diverged"
    """The case gave a wrong result, or a result where the host raises an error. This operation is the first whose
    result differs from the host's."""
    not_lowered = "not_lowered"
    """The operation has no lowering for the target's platform. Nothing ran."""
