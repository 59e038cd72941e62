"""The embedded PostgreSQL: a server in a data directory, as a child of this process.

The data directory contains ``cluster/`` (PostgreSQL's files), ``password``, one more password file for each role,
``port``, ``lock`` and ``postgres.log``. During the first start it also contains ``making/``. ``binaries.py`` finds the
programs. The superuser creates the roles and does nothing else. Outside of this module, only tests use the superuser's
DSN.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType

import psutil

from coordinator.configuration.variables import variables
from coordinator.database.binaries import Account, PostgresInstallation, account_of, choose, servant, within_reach
from coordinator.database.grants import ROLES
from coordinator.database.roles import provide
from coordinator.errors import DatabaseError
from coordinator.operating_system.atomic_files import open_log, write_private
from coordinator.operating_system.exec_with_parent_death_signal import dying_with_us
from coordinator.operating_system.folder_lock import FolderLock

USER = DATABASE = "portolan"
INITDB_OPTIONS = ("--username", USER, "--auth", "scram-sha-256", "--encoding", "UTF8", "--locale", "C")
INITDB_LIMIT_S = 300.0
READY_LIMIT_S = 300.0  # recovery after a crash replays up to a gigabyte of log
STOP_LIMITS_S = ((signal.SIGINT, 20.0), (signal.SIGQUIT, 5.0), (signal.SIGKILL, 5.0))
"""The signals for stopping, in order: fast shutdown, immediate shutdown, kill. The database recovers from each of them
with its write-ahead log."""
LOG_LIMIT_BYTES = 10_000_000
SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "max_connections": "50",
    "shared_buffers": "128MB",
    "timezone": "UTC",
    "log_timezone": "UTC",
    # A default for other clients that read the views; the coordinator's connections set it themselves.
    "jit": "off",
    "cluster_name": "portolan",
    # Failed statements are logged without values, because a refused row can hold a runner's secret.
    "log_error_verbosity": "terse",
    "log_parameter_max_length_on_error": "0",
}


class EmbeddedPostgres:
    """Runs a server in a directory: ``with EmbeddedPostgres(directory) as dsn: …``.

    The kernel stops the server when the *thread* that called ``start`` ends, so that a killed portolan leaves no server
    behind. So ``start`` must be called in a thread that lives as long as the server should.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory.absolute()
        self._lock = FolderLock(self.directory)
        self._server: subprocess.Popen[bytes] | None = None

    @property
    def running(self) -> bool:
        return self._server is not None and self._server.poll() is None

    @property
    def place(self) -> str:
        """Path and inode of the database's files. A copy of the directory differs in at least one of them."""
        return f"{self.directory.resolve()}#{(self.directory / 'cluster').stat().st_ino}"

    def start(self) -> str:
        """Start the server and return its DSN. Missing parts are created, and damaged ones repaired."""
        if not self.running:
            try:
                self._start()
            except OSError as error:
                self.stop()
                raise DatabaseError(
                    f"no database can be stored in {self.directory}: {(error.strerror or str(error)).lower()} "
                    f"({error.filename or 'while writing'}); correct this, or choose another data directory"
                ) from error
            except subprocess.TimeoutExpired as error:
                self.stop()
                raise DatabaseError(
                    f"PostgreSQL could not create its database in {self.directory} within {error.timeout:.0f} s: "
                    "the disk may be too slow or too busy; try again, or choose another data directory"
                ) from error
            except BaseException:
                self.stop()
                raise
        dsn = dsn_of(self.directory)
        assert dsn is not None
        return dsn

    def provide_roles(self) -> Mapping[str, str]:
        """Create the roles on the running server, also in a directory of a release that had no roles. Returns the DSN
        of each role."""
        passwords = {role: _keep(_password(self.directory, role), secrets.token_urlsafe(24)) for role in ROLES}
        superuser = dsn_of(self.directory)
        assert superuser is not None
        asyncio.run(provide(superuser, passwords))
        return {role: dsn for role in ROLES if (dsn := dsn_of(self.directory, role)) is not None}

    def stop(self) -> None:
        """Stop the server and release the directory. It may be called repeatedly and at any time."""
        if self._server is not None:
            for number, limit_s in STOP_LIMITS_S:
                if self._server.poll() is None:
                    self._server.send_signal(number)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._server.wait(limit_s)
                    break
            self._server = None
        if self._lock.is_held:
            with contextlib.suppress(OSError):
                stop_leftovers(self.directory)
            self._lock.release()

    def __enter__(self) -> str:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _start(self) -> None:
        cluster = self.directory / "cluster"
        self.directory.mkdir(parents=True, exist_ok=True)
        if not any(self.directory.iterdir()):
            self.directory.chmod(0o711)  # ours from here on; PostgreSQL's user must get through to cluster/
        self._lock.hold("stop that portolan, or choose another directory")
        account = _account(cluster)
        closed_folder = account.closed_folder(cluster)
        if closed_folder is not None:
            raise DatabaseError(
                f"PostgreSQL runs as user {account.name} and cannot enter {closed_folder}: allow it "
                f"(chmod o+x {closed_folder}), choose another data directory, or run portolan as another user"
            )
        major = _data_major(cluster)
        installation = choose(major, self.directory)
        programs = within_reach(installation, account, self.directory)
        stop_leftovers(self.directory)
        if major is None:
            self._make_cluster(cluster, programs, account)
        elif not (self.directory / "password").exists():
            raise DatabaseError(
                f"{self.directory / 'password'} is missing, and without it nobody can log in to the database "
                "beside it: restore the file, or choose another data directory"
            )
        _forget_strangers(cluster / "postmaster.pid")
        self._serve(cluster, programs, account, installation)

    def _make_cluster(self, cluster: Path, programs: Path, account: Account) -> None:
        """Create the cluster under a temporary name, and rename it when it is complete. If the program crashes before,
        the next call removes the incomplete cluster."""
        making = self.directory / "making"
        shutil.rmtree(making, ignore_errors=True)
        password = _keep(self.directory / "password", secrets.token_urlsafe(24))
        try:
            making.mkdir(mode=0o700)
            password_file = making / "password"
            password_file.write_text(password)
            for path in (password_file, making):
                os.chown(path, account.uid, account.gid)
            data = str(making / "cluster")
            self._run(
                account,
                [str(programs / "initdb"), "--pgdata", data, *INITDB_OPTIONS, "--pwfile", str(password_file)],
            )
            self._run(
                account,
                [str(programs / "postgres"), "--single", "-D", data, "postgres"],
                f"create database {DATABASE}\n",
            )
            (making / "cluster").rename(cluster)
            # Without this, a power failure could undo the rename.
            _sync_folder(self.directory)
        finally:
            shutil.rmtree(making, ignore_errors=True)

    def _run(self, account: Account, command: list[str], text: str = "") -> None:
        """Run one of PostgreSQL's tools and wait for its end."""
        process = subprocess.run(
            _launch(account, signal.SIGTERM, command),
            cwd=self.directory,
            env=_environment(),
            input=text,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=INITDB_LIMIT_S,
            check=False,
        )
        # In single-user mode, PostgreSQL ends with 0 after a statement that failed.
        if process.returncode or "ERROR:" in process.stderr:
            raise DatabaseError(
                f"PostgreSQL could not create its database in {self.directory}: {_complaint(process.stderr)}; "
                "correct this, or choose another data directory"
            )

    def _serve(self, cluster: Path, programs: Path, account: Account, installation: PostgresInstallation) -> None:
        output: str | None = ""
        # Another program may take the free port before the server does.
        for _ in range(3):
            port = _free_port(self.directory / "port")
            output = self._spawn(cluster, programs, account, port)
            if output is None:
                return
            if "could not bind" not in output:
                break
        raise DatabaseError(
            f"PostgreSQL {installation.version} does not start in {self.directory}: {_complaint(output)}; "
            f"read the reason in its log, {self.directory / 'postgres.log'}"
        )

    def _spawn(self, cluster: Path, programs: Path, account: Account, port: int) -> str | None:
        """Start the server and wait until it accepts connections. Returns None, or the server's output if the server
        ended instead."""
        log = self.directory / "postgres.log"
        options = [part for name, value in SETTINGS.items() for part in ("-c", f"{name}={value}")]
        command = [str(programs / "postgres"), "-D", str(cluster), "-p", str(port), *options]
        with open_log(log, LOG_LIMIT_BYTES) as stream:
            beginning = stream.tell()
            # The server has its own session. Otherwise Ctrl-C would stop it while the coordinator still writes.
            self._server = subprocess.Popen(
                _launch(account, signal.SIGINT, command),
                cwd=self.directory,
                env=_environment(),
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=stream,
                start_new_session=True,
            )
        give_up = time.monotonic() + READY_LIMIT_S
        while self._server.poll() is None:
            if _ready(cluster / "postmaster.pid", self._server.pid):
                return None
            if time.monotonic() > give_up:
                return f"not ready after {READY_LIMIT_S:.0f} s"
            time.sleep(0.01)
        with open(log, "rb") as stream:
            stream.seek(beginning)
            return stream.read().decode(errors="replace")


def dsn_of(directory: Path, user: str = USER) -> str | None:
    """Return the DSN of the database in ``directory``, even if no server runs; None without a database or this user."""
    try:
        password = _password(directory, user).read_text().strip()
        port = int((directory / "port").read_text())
    except (FileNotFoundError, ValueError):
        return None
    except PermissionError as error:
        raise DatabaseError(f"{error.filename} is readable by its owner only: run the command as that user") from error
    return f"postgresql://{user}:{password}@127.0.0.1:{port}/{DATABASE}"


def _password(directory: Path, user: str) -> Path:
    return directory / ("password" if user == USER else f"password-{user}")


def stop_leftovers(directory: Path) -> None:
    """End every PostgreSQL process that still uses ``directory``, no matter which process started it.

    The caller must hold the lock, because then the portolan that started these processes has ended. Processes are
    recognized by their working directory, which the server sets to its data directory. The pid file is not used,
    because it may be wrong.
    """
    for number, limit_s in STOP_LIMITS_S:
        left = list(_working_in(directory))
        if not left:
            return
        pids = {process.pid for process in left}
        for process in left:
            with contextlib.suppress(psutil.NoSuchProcess):
                # The postmaster stops its children in order, so they are signaled only as a last resort.
                if process.ppid() not in pids or number == signal.SIGKILL:
                    process.send_signal(number)
        psutil.wait_procs(left, timeout=limit_s)
    if left := list(_working_in(directory)):
        raise DatabaseError(
            f"an earlier PostgreSQL still runs in {directory} and cannot be stopped "
            f"(pid {left[0].pid}): stop it, then start again"
        )


def _working_in(directory: Path) -> Iterator[psutil.Process]:
    root = os.path.realpath(directory)
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if process.name() in ("postgres", "initdb") and f"{process.cwd()}/".startswith(f"{root}/"):
                yield process


def _forget_strangers(pid_file: Path) -> None:
    """Remove a pid file that names a living process which is not our server.

    PostgreSQL refuses to start if a process with this pid exists, even a zombie or another program. The caller has made
    sure that no server is left. A pid without a process is no problem for PostgreSQL.
    """
    with contextlib.suppress(FileNotFoundError, IndexError, ValueError):
        if psutil.pid_exists(int(pid_file.read_text().split()[0])):
            pid_file.unlink()


def _account(cluster: Path) -> Account:
    """Return the account for the server: the owner of the data, otherwise the current user. It is never root."""
    own = os.geteuid()
    owner = cluster.stat().st_uid if cluster.exists() else own
    if owner != own and own != 0:
        raise DatabaseError(
            f"the data in {cluster} belong to user {account_of(owner).name}: "
            "run portolan as that user (or as root), or choose another data directory"
        )
    return servant() if owner == 0 else account_of(owner)


def _data_major(cluster: Path) -> int | None:
    """Return the major version of PostgreSQL that wrote the data; None without data."""
    if not cluster.exists():
        return None
    try:
        return int((cluster / "PG_VERSION").read_text().split(".")[0])
    except (FileNotFoundError, ValueError):
        raise DatabaseError(
            f"{cluster} is not a PostgreSQL data directory (no version in PG_VERSION): "
            "restore it, move it away, or choose another data directory"
        ) from None


def _launch(account: Account, at_parents_death: signal.Signals, command: list[str]) -> list[str]:
    return dying_with_us(command, at_parents_death, (account.uid, account.gid, account.groups))


def _environment() -> dict[str, str]:
    """Return the server's environment, without the caller's PG… variables, locale and Python settings."""
    return {"PATH": variables().path, "LC_ALL": "C"}


def _ready(pid_file: Path, pid: int) -> bool:
    """Whether the server is ready. Like ``pg_ctl``, this reads the server's state from line 8 of the pid file."""
    try:
        lines = pid_file.read_text().splitlines()
    except FileNotFoundError:
        return False
    return len(lines) >= 8 and lines[0].strip() == str(pid) and lines[7].strip() == "ready"


def _free_port(port_file: Path) -> int:
    """Return the last port if it is still free, otherwise another free port."""
    with contextlib.suppress(FileNotFoundError, ValueError):
        port = int(port_file.read_text())
        with socket.socket() as probe:
            # PostgreSQL sets this option, too, because connections to the previous server may still be in TIME_WAIT.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            with contextlib.suppress(OSError, OverflowError):
                probe.bind(("127.0.0.1", port))
                return port
        port_file.unlink()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(_keep(port_file, str(probe.getsockname()[1])))


def _keep(path: Path, text: str) -> str:
    """Return the text of the private file ``path``. If the file does not exist, first create it atomically with
    ``text``."""
    with contextlib.suppress(FileNotFoundError):
        if stored_text := path.read_text().strip():
            return stored_text
    write_private(path, text)
    return text


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _complaint(output: str | None) -> str:
    """Return the line of a tool's output that gives the reason for a failure."""
    if output and ("No space left on device" in output or "Check free disk space" in output):
        return "no space left on the disk; free some (100 MB for a new database), then start again"
    lines = [line.strip() for line in (output or "").splitlines() if line.strip()]
    marks = ("PANIC:", "FATAL:", "ERROR:", "error:")
    return next(
        (line for line in lines if any(mark in line for mark in marks)),
        lines[-1] if lines else "it printed no message",
    )
