"""The roles of the database on a server of the tests, whose superuser made it: their DSNs, with known passwords."""

from __future__ import annotations

import asyncio
from functools import cache
from urllib.parse import urlsplit, urlunsplit


def application(dsn: str) -> str:
    """The DSN with which a coordinator works: what it may not do fails in every test that has one."""
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
