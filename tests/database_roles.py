"""The database roles on a test server that was made by its superuser: their DSNs, with known passwords."""

from __future__ import annotations

import asyncio
from functools import cache
from urllib.parse import urlsplit, urlunsplit


def application(dsn: str) -> str:
    """The DSN that a coordinator uses. If a coordinator does something that its role may not do, every test with a
    coordinator fails."""
    from coordinator.database.grants import APPLICATION

    return as_role(dsn, APPLICATION)


def as_role(superuser: str, role: str) -> str:
    """The DSN of this role in the database of the superuser's DSN; the roles have the superuser's password."""
    parts = urlsplit(superuser)
    _provide(urlunsplit(parts._replace(path="/postgres")))
    return urlunsplit(parts._replace(netloc=parts.netloc.replace(f"{parts.username}:", f"{role}:", 1)))


@cache
def _provide(superuser: str) -> None:
    from coordinator.database.grants import ROLES
    from coordinator.database.roles import provide

    asyncio.run(provide(superuser, dict.fromkeys(ROLES, urlsplit(superuser).password or "")))
