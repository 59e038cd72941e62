"""Finds the token that a command sends. Each token belongs to one origin and is sent to no other origin.

A command sends the first of these tokens that exists:

- ``$PORTOLAN_TOKEN`` or ``$PORTOLAN_TOKEN_FILE``, which belong to the address of the command
- the admin token of the local instance that runs at this address
- the token that ``portolan login`` stored for this address
- the admin token of the containers that ``compose.yaml`` starts at this address

Redirects are not followed.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlsplit

from coordinator.cli.directory import DEFAULT_PORT, DataDirectory
from coordinator.cli.published_port import is_published
from coordinator.configuration.variables import Variables, variables
from coordinator.errors import CoordinatorError, DatabaseError
from coordinator.operating_system.atomic_files import write_private
from coordinator.runner_requests.addresses import is_loopback

FOR_EVERYBODY = 0o077
COMPOSE_ADMIN = "admin"
"""The name of the admin token's file among the secrets of ``compose.yaml``."""


@dataclass(frozen=True)
class Origin:
    """Scheme, host and port: the part of an address that a token belongs to."""

    scheme: str
    host: str
    port: int

    @classmethod
    def of(cls, url: str) -> Origin:
        """The origin of a URL. Raises ``ValueError`` if it is not an HTTP URL."""
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(url)
        return cls(parts.scheme, parts.hostname.lower(), parts.port or (443 if parts.scheme == "https" else 80))

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        return is_loopback(self.host)


class TokenStore:
    """The tokens that ``portolan login`` stored: one file for each origin, readable only by its owner."""

    def __init__(self) -> None:
        config = variables().config or Path("~/.config").expanduser()
        self._folder = config / "portolan" / "tokens"

    def find(self, origin: Origin) -> str | None:
        return _read(self.file(origin))

    def keep(self, origin: Origin, token: str) -> Path:
        """Store a token. Raises ``OSError`` if the folder cannot be written."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = self.file(origin)
        write_private(file, f"{token}\n")
        return file

    def forget(self, origin: Origin) -> bool:
        """Delete the stored token. Returns whether there was one."""
        try:
            self.file(origin).unlink()
        except FileNotFoundError:
            return False
        return True

    def file(self, origin: Origin) -> Path:
        return self._folder / quote(str(origin), safe="")


def find_token(url: str, directory: DataDirectory) -> str | None:
    """Return the token for the coordinator at ``url``, or None if there is none."""
    environment = variables()
    if environment.token:
        return environment.token.strip()
    if environment.token_file is not None:
        token = _read(environment.token_file, private=False)
        if token is None:
            raise CoordinatorError(
                f"PORTOLAN_TOKEN_FILE: no token can be read from {environment.token_file}: name a file with a token"
            )
        return token
    try:
        origin = Origin.of(url)
    except ValueError:
        return None
    return _of_instance(origin, directory) or TokenStore().find(origin) or _of_compose(origin, environment)


def _of_instance(origin: Origin, directory: DataDirectory) -> str | None:
    """The admin token of the instance that runs on the data directory, if the instance has this origin."""
    try:
        running = directory.running()
        if running is None:
            return None
        here = Origin.of(running.url)
    except (DatabaseError, ValueError):
        return None  # another user's instance
    # The loopback interface has several names.
    is_same = here == origin or (here.port == origin.port and here.is_loopback and origin.is_loopback)
    if not is_same:
        return None
    return _read(directory.admin_token)


def _of_compose(origin: Origin, environment: Variables) -> str | None:
    """The admin token of the containers that ``compose.yaml`` publishes on this machine."""
    if not origin.is_loopback or str(origin.port) != (environment.port or str(DEFAULT_PORT)):
        return None
    # Only its folder protects the file, because another user must be able to read it in the container.
    token = _read(environment.secrets / COMPOSE_ADMIN, private=False)
    return token if token is not None and is_published(origin.port) else None


def _read(file: Path, *, private: bool = True) -> str | None:
    """The token in the file; None if there is no file or it cannot be read."""
    try:
        if private:
            status = file.stat()
            if status.st_mode & FOR_EVERYBODY or status.st_uid not in (os.geteuid(), 0):
                raise CoordinatorError(
                    f"{file} holds a token that other users can read: run `chmod 600 {file}` and replace the token"
                )
        return file.read_text().strip() or None
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return None
    except UnicodeDecodeError as error:
        raise CoordinatorError(f"{file} holds no token: remove it, or run `portolan login URL`") from error
