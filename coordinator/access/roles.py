"""The roles, from the least to the most powerful. Each includes the roles before it."""

from __future__ import annotations

from enum import StrEnum


class Role(StrEnum):
    """The role of a caller."""

    viewer = "viewer"
    """Reads all results."""
    submitter = "submitter"
    """Submits campaigns, and cancels their own campaigns."""
    operator = "operator"
    """Manages runners, bundles, causes, and all campaigns."""
    admin = "admin"
    """Manages tokens and reads the audit log."""

    def includes(self, other: Role) -> bool:
        return _RANK[self] >= _RANK[other]


_RANK = {role: rank for rank, role in enumerate(Role)}
