"""The data directory of a local instance: its place, its lock and its files.

::

    postgres/           the embedded database
    runners/torch-cpu/  for each local runner: its port, secret, registration and log
    coordinator.json    the addresses of the coordinator and its database, for other commands
    coordinator.log     the coordinator's log, one JSON object per line
    report-3.html       the report of a demo's campaign, here of campaign 3
    admin-token         the token with all rights; created at the first start, readable only by its owner
    lock                the lock file, which is locked while the instance runs
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from coordinator.access.tokens import new_token
from coordinator.configuration.variables import variables
from coordinator.errors import CoordinatorError, DatabaseError
from coordinator.operating_system.atomic_files import write_private
from coordinator.operating_system.folder_lock import FolderLock

DEFAULT_PORT = 8642
DEFAULT_URL = f"http://127.0.0.1:{DEFAULT_PORT}"


def default_directory() -> Path:
    """``$PORTOLAN_DATA``, or the system's folder for application data."""
    environment = variables()
    if environment.data is not None:
        return environment.data
    if os.geteuid() == 0:
        return Path("/var/lib/portolan")
    return (environment.system_data or Path.home() / ".local" / "share") / "portolan"


@dataclass(frozen=True)
class Whereabouts:
    """The addresses of a running instance. They are stored in its data directory for other commands."""

    url: str
    dsn: str


class DataDirectory:
    """The data directory of an instance: ``path``, or the default directory. ``hold`` creates it if it is missing."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = (path or default_directory()).absolute()
        self.is_given = path is not None

    @property
    def postgres(self) -> Path:
        return self.path / "postgres"

    @property
    def log(self) -> Path:
        return self.path / "coordinator.log"

    @property
    def admin_token(self) -> Path:
        return self.path / "admin-token"

    def report(self, campaign: int) -> Path:
        return self.path / f"report-{campaign}.html"

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Create the directory if it is missing, and lock it against other instances."""
        if not self.path.exists():
            try:
                self.path.mkdir(parents=True)
            except OSError as error:
                reason = (error.strerror or str(error)).lower()
                raise DatabaseError(
                    f"the data directory {self.path} cannot be made ({reason}): choose another with --data-dir, "
                    "or with PORTOLAN_DATA"
                ) from error
            # If Portolan runs as root, PostgreSQL runs as another user, who must reach postgres/.
            self.path.chmod(0o711)
        if not self.path.is_dir():
            raise DatabaseError(
                f"the data directory {self.path} is a file: choose another with --data-dir, or with PORTOLAN_DATA"
            )
        lock = FolderLock(self.path)
        lock.hold("stop that one, or choose another directory with --data-dir")
        try:
            self._whereabouts.unlink(missing_ok=True)
            yield
        finally:
            with contextlib.suppress(OSError):
                self._whereabouts.unlink(missing_ok=True)
            lock.release()

    def announce(self, whereabouts: Whereabouts) -> None:
        """Store the addresses, so that other commands find the instance. The file is readable only by its owner,
        because the DSN contains a password."""
        write_private(self._whereabouts, json.dumps(vars(whereabouts)))

    def running(self) -> Whereabouts | None:
        """Return the addresses of the instance that runs on this directory; None if no instance runs."""
        try:
            content = json.loads(self._whereabouts.read_text())
            if not FolderLock(self.path).is_held_elsewhere:
                return None
            return Whereabouts(content["url"], content["dsn"])
        except FileNotFoundError:
            return None
        except PermissionError as error:
            raise DatabaseError(
                f"{error.filename} is readable by its owner only: run the command as that user"
            ) from error
        except (ValueError, KeyError, TypeError) as error:
            raise DatabaseError(
                f"{self._whereabouts} is damaged: stop the instance, and start it again with `portolan up`"
            ) from error

    def runner(self, target: str) -> Path:
        """Return the folder of the local runner that serves ``target``, and create it if it is missing."""
        folder = self.path / "runners" / target.replace("/", "-")
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return folder

    @property
    def _whereabouts(self) -> Path:
        return self.path / "coordinator.json"


def find_url(option: str | None, directory: DataDirectory) -> str:
    """Return the URL of the coordinator: ``option`` if it is set, otherwise the URL from the environment, otherwise the
    URL of the local instance.

    If ``--data-dir`` was given and ``option`` was not, return the URL of the instance in that directory. Raises
    ``CoordinatorError`` if no instance runs there.
    """
    if directory.is_given and not option:
        return _require_running(directory).url
    if url := option or variables().url:
        return url.rstrip("/")
    try:
        whereabouts = directory.running()
    except DatabaseError:
        whereabouts = None  # another user's instance: the default address may still be right
    return whereabouts.url if whereabouts else DEFAULT_URL


def _require_running(directory: DataDirectory) -> Whereabouts:
    whereabouts = directory.running()
    if whereabouts is None:
        raise CoordinatorError(
            f"no instance runs on {directory.path}: start it with `portolan up --data-dir {directory.path}`, "
            "or leave --data-dir out"
        )
    return whereabouts


def kept_admin_token(file: Path) -> str:
    """Return the admin token in the file. Create the file if it is missing, and replace the token if other users could
    read the file.
    """
    if not file.exists() or file.stat().st_mode & 0o077 or not file.read_text().strip():
        write_private(file, f"{new_token().text}\n")
    return file.read_text().strip()


def kept_secret(file: Path) -> str:
    """Return the secret in the file. The first call creates the file."""
    if not file.exists():
        write_private(file, f"{secrets.token_urlsafe(32)}\n")
    return file.read_text().strip()
