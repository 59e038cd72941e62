"""The variables of the coordinator and its command line, and the settings of one coordinator process.

Nothing else on this side reads variables; children are given the whole environment as it is.
"""

from __future__ import annotations

import os
import re
import socket
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_hex
from typing import Literal, TextIO
from urllib.parse import quote, urlsplit, urlunsplit

from pydantic import AliasChoices, Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from coordinator.errors import DatabaseError, SettingError
from protocol.enrolment import SECRET

LogFormat = Literal["text", "json"]

STATEMENT_TIMEOUT = "PORTOLAN_STATEMENT_TIMEOUT_S"
STATEMENT_TIMEOUT_S = 60.0
"""Nothing of ours takes this long; an export reads in pages."""


class Variables(BaseSettings):
    """The variables as they are set; an empty one is not set. Their meaning is in docs/reference/settings.md."""

    model_config = SettingsConfigDict(env_ignore_empty=True, case_sensitive=True, frozen=True)

    data: Path | None = Field(default=None, validation_alias="PORTOLAN_DATA")
    url: str | None = Field(default=None, validation_alias="PORTOLAN_URL")
    runner_secret: str = Field(default="", validation_alias="PORTOLAN_RUNNER_SECRET")
    enrolment_secret_file: Path | None = Field(default=None, validation_alias="PORTOLAN_ENROLMENT_SECRET_FILE")
    database_url: str | None = Field(default=None, validation_alias="PORTOLAN_DATABASE_URL")
    database_password_file: str | None = Field(default=None, validation_alias="PORTOLAN_DATABASE_PASSWORD_FILE")
    # These two are not checked yet: a command that needs neither is not to fail for one that cannot be read.
    statement_timeout_s: str | None = Field(default=None, validation_alias=STATEMENT_TIMEOUT)
    log_format: str | None = Field(default=None, validation_alias="PORTOLAN_LOG_FORMAT")
    cache: Path | None = Field(default=None, validation_alias=AliasChoices("PORTOLAN_CACHE", "XDG_CACHE_HOME"))
    system_data: Path | None = Field(default=None, validation_alias="XDG_DATA_HOME")
    path: str = Field(default=os.defpath, validation_alias="PATH")


def _identity() -> str:
    return f"{socket.gethostname()}-{os.getpid()}-{token_hex(4)}"


@dataclass(frozen=True)
class Settings:
    """The settings of one coordinator process."""

    database_url: str
    """``postgresql://user:password@host:port/database``."""
    identity: str = field(default_factory=_identity)
    """The owner of runners. It is unique per process, so that a restarted coordinator is a new one."""
    enrolment_secret_file: Path | None = None
    """The file of the secret of runners that enrol, read again each time; without it none can."""
    statement_timeout_s: float = field(default_factory=lambda: statement_timeout_s())
    """The time after which PostgreSQL ends a statement."""
    figures: Path = field(default_factory=lambda: cache() / "portolan" / "figures")
    """The folder of drawn figures; they can be drawn again."""

    @classmethod
    def from_environment(cls) -> Settings:
        variables = Variables()
        if not variables.database_url:
            raise DatabaseError("PORTOLAN_DATABASE_URL is not set: give it a DSN, or start with `portolan up`")
        dsn = with_password(variables.database_url, variables.database_password_file)
        return cls(database_url=dsn, enrolment_secret_file=enrolment_file(None))


def cache() -> Path:
    """Return the folder of files that can be made again."""
    return (Variables().cache or Path("~/.cache")).expanduser().absolute()


def enrolment_file(given: Path | None) -> Path | None:
    """Return the given file, else the environment's. Raises ``SettingError`` now, rather than at each enrolment."""
    file = given or Variables().enrolment_secret_file
    if file is not None:
        enrolment_secret(file)
    return file


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
    given = Variables().statement_timeout_s
    if given is None:
        return STATEMENT_TIMEOUT_S
    try:
        seconds = float(given)
    except ValueError:
        seconds = 0.0
    if not 0.1 <= seconds <= 3600:
        raise SettingError(f"{STATEMENT_TIMEOUT} is {given!r}: give seconds from 0.1 to 3600")
    return seconds


def log_format(stream: TextIO) -> LogFormat:
    """The environment's form of log lines, or the default: text on a terminal, JSON elsewhere."""
    given = Variables().log_format
    match given:
        case None:
            return "text" if stream.isatty() else "json"
        case "text" | "json":
            return given
    raise SettingError(f"PORTOLAN_LOG_FORMAT is {given!r}: give text or json")


def with_password(url: str, file: str | None) -> str:
    """The DSN with the password that the file holds, if there is one: it stands in no variable then."""
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
