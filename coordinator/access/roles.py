"""The roles, from the least to the most powerful. Each includes the roles before it."""

from __future__ import annotations

from enum import StrEnum


class Role(StrEnum):
    """The role of a caller."""

    viewer = "viewer"
    """Reads all results, and lets the coordinator assess scripts."""
    submitter = "submitter"
    """Submits campaigns, and cancels campaigns that were submitted under the name of its token."""
    operator = "operator"
    """Registers and removes runners, imports bundles, trusts and revokes keys that sign bundles, overrides causes of
    failures, reclassifies stored outcomes, deletes campaigns and suites, and cancels any campaign."""
    admin = "admin"
    """Makes and revokes tokens, and reads the audit."""

    def includes(self, other: Role) -> bool:
        return _RANK[self] >= _RANK[other]


_RANK = {role: rank for rank, role in enumerate(Role)}
