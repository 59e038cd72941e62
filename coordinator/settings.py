"""Settings of one coordinator process, from the environment.

The command line reads variables of its own: where the data are, which coordinator to speak to, a runner's secret.
"""

from __future__ import annotations

import os
import re
import socket
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_hex
from urllib.parse import quote, urlsplit, urlunsplit

from coordinator.errors import SettingError
from protocol.enrolment import SECRET

ENROLMENT = "PORTOLAN_ENROLMENT_SECRET_FILE"
STATEMENT_TIMEOUT = "PORTOLAN_STATEMENT_TIMEOUT_S"
STATEMENT_TIMEOUT_S = 60.0
"""Nothing of ours takes this long; an export reads in pages."""


def _identity() -> str:
    return f"{socket.gethostname()}-{os.getpid()}-{token_hex(4)}"


@dataclass(frozen=True)
class Settings:
    database_url: str
    """``postgresql://user:password@host:port/database``."""
    identity: str = field(default_factory=_identity)
    """Who owns runners: unique per process, so that a restarted coordinator is a new one."""
    enrolment_secret_file: Path | None = None
    """What runners that enrol must know, read again each time; without it none can."""
    statement_timeout_s: float = field(default_factory=lambda: statement_timeout_s())
    """How long one statement may take before PostgreSQL is told to end it."""
    figures: Path = field(default_factory=lambda: cache() / "portolan" / "figures")
    """Where drawn figures are kept; they can be drawn again."""

    @classmethod
    def from_environment(cls) -> Settings:
        url = os.environ.get("PORTOLAN_DATABASE_URL")
        if not url:
            from coordinator.errors import DatabaseError

            raise DatabaseError("PORTOLAN_DATABASE_URL is not set: give it a DSN, or start with `portolan up`")
        dsn = with_password(url, os.environ.get("PORTOLAN_DATABASE_PASSWORD_FILE"))
        return cls(database_url=dsn, enrolment_secret_file=enrolment_file(None))


def cache() -> Path:
    """Where what can be made again is kept."""
    for name in ("PORTOLAN_CACHE", "XDG_CACHE_HOME"):
        if given := os.environ.get(name):
            return Path(given).expanduser().absolute()
    return Path(os.path.expanduser("~/.cache")).absolute()


def enrolment_file(given: Path | None) -> Path | None:
    """The given file, else the environment's. Raises ``SettingError`` now, rather than at each enrolment."""
    named = given or os.environ.get(ENROLMENT)
    if not named:
        return None
    enrolment_secret(Path(named))
    return Path(named)


def enrolment_secret(path: Path) -> str:
    try:
        secret = path.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is no text"
        raise SettingError(f"the enrolment secret cannot be read from {path}: {why}") from error
    if re.fullmatch(SECRET, secret) is None:
        raise SettingError(f"{path} must hold the enrolment secret: one word of printable ASCII, up to 500 letters")
    return secret


def statement_timeout_s() -> float:
    """The environment's limit for one statement, or the default."""
    given = os.environ.get(STATEMENT_TIMEOUT)
    if not given:
        return STATEMENT_TIMEOUT_S
    try:
        seconds = float(given)
    except ValueError:
        seconds = 0.0
    if not 0.1 <= seconds <= 3600:
        raise SettingError(f"{STATEMENT_TIMEOUT} is {given!r}: give seconds from 0.1 to 3600")
    return seconds


def with_password(url: str, file: str | None) -> str:
    """The DSN with the password that the file holds, if there is one: it stands in no variable then."""
    from coordinator.errors import DatabaseError

    if not file:
        return url
    try:
        password = Path(file).read_text().strip("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise DatabaseError(f"PORTOLAN_DATABASE_PASSWORD_FILE: {error}") from error
    if not password:
        raise DatabaseError(f"PORTOLAN_DATABASE_PASSWORD_FILE: {file} is empty")
    parts = urlsplit(url)
    if not parts.username:
        raise DatabaseError("PORTOLAN_DATABASE_URL names no user: write postgresql://user@host/database")
    place = parts.netloc.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=f"{parts.username}:{quote(password, safe='')}@{place}"))
