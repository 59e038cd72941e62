"""Settings of one coordinator process, from the environment. Nothing else reads variables."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass, field
from secrets import token_hex


def _identity() -> str:
    return f"{socket.gethostname()}-{os.getpid()}-{token_hex(4)}"


@dataclass(frozen=True)
class Settings:
    database_url: str
    """``postgresql://user:password@host:port/database``."""
    identity: str = field(default_factory=_identity)
    """Who owns runners: unique per process, so that a restarted coordinator is a new one."""

    @classmethod
    def from_environment(cls) -> Settings:
        url = os.environ.get("PORTOLAN_DATABASE_URL")
        if not url:
            from coordinator.errors import DatabaseError

            raise DatabaseError("PORTOLAN_DATABASE_URL is not set: give it a DSN, or start with `portolan up`")
        return cls(database_url=url)
