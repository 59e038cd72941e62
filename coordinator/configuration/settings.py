"""The settings of one coordinator process, and how they are read from environment variables."""

from __future__ import annotations

import ipaddress
import os
import re
import socket
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_hex
from typing import Literal, TextIO
from urllib.parse import quote, unquote, urlsplit, urlunsplit

from coordinator.configuration.bounds import Bounds
from coordinator.configuration.times import Times
from coordinator.configuration.variables import RUNNER_NETWORKS, STATEMENT_TIMEOUT, variables
from coordinator.errors import DatabaseError, SettingError
from coordinator.runner_requests.addresses import RunnerNetworks
from protocol.enrolment_tokens import KEY
from protocol.redaction import SHORTEST, secret_values

LogFormat = Literal["text", "json"]
AnonymousRole = Literal["viewer", "admin"]

NAME_OF_HOST = re.compile(r"[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*\.?")

STATEMENT_TIMEOUT_S = 60.0
"""The default time limit of a statement. It is longer than any statement of Portolan takes; an export reads in
pages."""


def _identity() -> str:
    return f"{socket.gethostname()}-{os.getpid()}-{token_hex(4)}"


@dataclass(frozen=True)
class Settings:
    """The settings of one coordinator process."""

    database_url: str
    """The DSN: ``postgresql://user:password@host:port/database``."""
    identity: str = field(default_factory=_identity)
    """The name under which this coordinator owns runners. Each process has its own name, so a restarted coordinator has
    a new one."""
    enrolment_key_file: Path | None = None
    """The file with the key of enrollment tokens, read again for each use. Without it no runner can enroll."""
    runners_port: int | None = None
    """The port of the listener for runners, which serves enrollment and no REST; None if there is no such listener."""
    rest_address: str | None = None
    """The only name or address of this machine at which REST and pages are served; None for all addresses."""
    admin_token: str | None = field(default=None, repr=False)
    """The token with all rights. It is not in the database, so it works even if the database is empty."""
    admin_name: str = "admin"
    anonymous_role: AnonymousRole | None = None
    """The role of callers without a token. ``admin`` disables access control."""
    statement_timeout_s: float = field(default_factory=lambda: statement_timeout_s())
    """The time after which PostgreSQL cancels a statement."""
    hosts: frozenset[str] = field(default_factory=lambda: host_names())
    """The host names at which clients reach this coordinator. IP addresses are always accepted."""
    figures: Path = field(default_factory=lambda: cache() / "portolan" / "figures")
    """The folder in which drawn figures are cached."""
    bounds: Bounds = field(default_factory=lambda: Bounds.parse(variables().limits))
    """The limits on concurrent work for clients."""
    times: Times = field(default_factory=lambda: Times.parse(variables().times))
    """The times that the coordinator waits."""

    proxies: tuple[str, ...] = field(default_factory=lambda: proxies(variables().proxies))
    """Proxies that are trusted to report a client's address."""

    @property
    def secrets(self) -> frozenset[str]:
        """The values that must never appear in a log."""
        password = urlsplit(self.database_url).password or ""
        values = {password, unquote(password), *secret_values({**os.environ})}
        if self.enrolment_key_file is not None:
            values.add(enrolment_key(self.enrolment_key_file))
        if self.admin_token is not None:
            values.add(self.admin_token)
        return frozenset(value for value in values if len(value) >= SHORTEST)

    @classmethod
    def from_environment(cls) -> Settings:
        environment = variables()
        if not environment.database_url:
            raise DatabaseError("PORTOLAN_DATABASE_URL is not set: set it to a DSN, or start with `portolan up`")
        dsn = with_password(environment.database_url, environment.database_password_file)
        return cls(
            database_url=dsn,
            enrolment_key_file=enrolment_key_file(None),
            rest_address=environment.rest_address,
            admin_token=admin_token(environment.admin_token_file),
            anonymous_role=anonymous_role(None),
        )


def cache() -> Path:
    """Return the cache folder."""
    return (variables().cache or Path("~/.cache")).expanduser().absolute()


def enrolment_key_file(option: Path | None) -> Path | None:
    """Return the file that the option names, otherwise the file that the environment names. Raises ``SettingError`` if
    the file is not usable, so that this is noticed before a runner enrolls."""
    file = option or variables().enrolment_key_file
    if file is not None:
        enrolment_key(file)
    return file


def enrolment_key(path: Path) -> str:
    return _secret_word(path, "the enrolment key")


def proxies(text: str) -> tuple[str, ...]:
    """Parse addresses and networks separated by spaces or commas. Raises ``SettingError``."""
    parts = tuple(text.replace(",", " ").split())
    for part in parts:
        try:
            ipaddress.ip_network(part)
        except ValueError as error:
            raise SettingError(
                f"PORTOLAN_PROXIES has {part[:100]!r} ({error}): give addresses or networks, such as 127.0.0.1"
            ) from error
    return parts


def host_names(*options: str) -> frozenset[str]:
    """Return the host names of this machine, and those that the environment and the options name, normalized for
    comparison."""
    own = ["localhost", *filter(NAME_OF_HOST.fullmatch, (socket.gethostname(),))]
    all_names = [*filter(None, re.split(r"[\s,]+", variables().hosts)), *options]
    for name in all_names:
        if not NAME_OF_HOST.fullmatch(name):
            what = "is not a host name: write it without scheme and port"
            raise SettingError(f"PORTOLAN_HOSTS, --allowed-host: {name[:100]!r} {what}")
    return frozenset(name.lower().rstrip(".") for name in (*own, *all_names))


def admin_token(path: Path | None) -> str | None:
    """Return the admin token in the file; None without a file. Raises ``SettingError`` if the token is not usable."""
    return None if path is None else _secret_word(path, "the admin token")


def _secret_word(path: Path, noun: str) -> str:
    """Read the secret in a file. The secret must be so long that nobody can guess it, even from its unsalted hash."""
    try:
        word = path.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not text"
        raise SettingError(
            f"{noun} cannot be read from {path} ({why}): name a file that you can read, or correct its permissions"
        ) from error
    if re.fullmatch(KEY, word) is None:
        raise SettingError(
            f"{path} does not contain {noun}: write one word of 32 to 500 printable ASCII characters into it"
        )
    return word


def anonymous_role(option: str | None) -> AnonymousRole | None:
    """Return the role of callers without a token: from the option if it is given, otherwise from the environment,
    otherwise None."""
    role = option or variables().anonymous_role
    match role:
        case None | "none":
            return None
        case "viewer":
            return "viewer"
    raise SettingError(f"the role of callers without a token is {role!r}: give none or viewer")


def statement_timeout_s() -> float:
    """Return the time limit of a statement: from the environment if it is set there, otherwise the default."""
    text = variables().statement_timeout_s
    if text is None:
        return STATEMENT_TIMEOUT_S
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0.1 <= seconds <= 3600:
        raise SettingError(f"{STATEMENT_TIMEOUT} is {text!r}: give seconds from 0.1 to 3600")
    return seconds


def runner_networks() -> RunnerNetworks:
    """Return the networks in which the environment allows runners."""
    text = variables().runner_networks
    try:
        return RunnerNetworks.parse(text)
    except ValueError as error:
        raise SettingError(
            f"{RUNNER_NETWORKS} is {text!r} ({error}): give networks such as 10.8.0.0/16, or loopback, private or any"
        ) from error


def log_format(stream: TextIO) -> LogFormat:
    """Return the format of log lines from the environment. The default is text on a terminal, and JSON otherwise."""
    text = variables().log_format
    match text:
        case None:
            return "text" if stream.isatty() else "json"
        case "text" | "json":
            return text
    raise SettingError(f"PORTOLAN_LOG_FORMAT is {text!r}: give text or json")


def with_password(url: str, file: str | None) -> str:
    """Return the DSN with the password from a file, so that no variable contains the password. Without a file, return
    the DSN unchanged."""
    if not file:
        return url
    try:
        password = Path(file).read_text().strip("\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not text"
        raise DatabaseError(
            f"PORTOLAN_DATABASE_PASSWORD_FILE is {file}, which cannot be read ({reason.lower()}): "
            "name a file that contains only the password"
        ) from error
    if not password:
        raise DatabaseError(
            f"PORTOLAN_DATABASE_PASSWORD_FILE is {file}, which is empty: write the password into the file"
        )
    parts = urlsplit(url)
    if not parts.username:
        raise DatabaseError("PORTOLAN_DATABASE_URL names no user: write postgresql://user@host/database")
    place = parts.netloc.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=f"{parts.username}:{quote(password, safe='')}@{place}"))
