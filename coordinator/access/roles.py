"""The roles, from the least to the most; each includes those before it."""

from __future__ import annotations

from enum import StrEnum


class Role(StrEnum):
    """The role of a caller."""

    viewer = "viewer"
    """Reads everything that is charted."""
    submitter = "submitter"
    """Submits campaigns, and cancels those of its own name."""
    operator = "operator"
    """Manages runners, bundles and causes, and everybody's campaigns."""
    admin = "admin"
    """Manages tokens and reads the audit."""

    def includes(self, other: Role) -> bool:
        return _RANK[self] >= _RANK[other]


_RANK = {role: rank for rank, role in enumerate(Role)}
