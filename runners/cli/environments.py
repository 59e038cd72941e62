"""Environments: a framework's own installation, keyed by all that decides its content and set up once.

An environment holds exactly the packages of a lock, by version and by hash. The lock stands beside the
framework: ``lock-cuda.txt`` for a device that needs packages of its own, else ``lock.txt``. The Python and the
machine, and the packages that bring further devices, are in the key too; targets with one key share one
environment. It holds third-party packages only; the project itself is imported from where it lies.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import time
import tomllib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from runners.cli.indexes import ANY_BUILD_VARIABLE, any_build, index_variables
from runners.errors import SetupFailedError
from runners.frameworks import DEVICE_GROUP, OURS
from runners.settings import cache, inherited

PROJECT = Path(__file__).resolve().parents[2]
COMPLETE = "portolan-complete.json"
"""Written last: an environment without it was interrupted, and is made again."""
PROGRESS_EVERY_S = 5.0
_BUILT = frozenset({"build", "dist", "__pycache__", ".git"})
"""Files and folders that come and go in a package's folder without being a part of it."""
ANY_BUILD = "portolan-any-build"
"""A file in an environment that may hold other builds than its lock: the environment's hash differs by it."""

Say = Callable[[str], None]


def name(framework: str, device: str = "") -> str:
    """The environment for a device: the framework's, or the device's own where one is declared."""
    declared = OURS[framework].devices.get(device) if framework in OURS else None
    return f"{framework}-{device}" if declared is not None and declared.own_environment else framework


def lock(framework: str, device: str = "") -> Path:
    """The packages of an environment, each with its version and the hashes of its files."""
    variant = name(framework, device).removeprefix(framework)
    return PROJECT / "runners" / framework / f"lock{variant}.txt"


def key(framework: str, device: str = "", added: Sequence[str] = ()) -> str:
    """12 hex digits over all that decides what an environment holds. Raises ``OSError`` if there is no lock."""
    lines = lock(framework, device).read_text().splitlines()
    content = {
        "name": name(framework, device),
        "python": f"{sys.version_info.major}.{sys.version_info.minor}",
        "machine": platform.machine(),
        "lock": [line for line in lines if line and not line.startswith("#")],
        "added": sorted(map(_content, added)),
        "any build": any_build(inherited()),
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:12]


def _content(package: str) -> str:
    """A digest of a package to add: of its files if it is a folder or a file here, else the requirement as written."""
    source = Path(package).expanduser()
    if not source.exists():
        return package
    files = [source] if source.is_file() else sorted(file for file in source.rglob("*") if file.is_file())
    hasher = hashlib.sha256()
    for file in files:
        within = file.relative_to(source).as_posix()
        if not any(part in _BUILT or part.endswith(".egg-info") for part in within.split("/")):
            content = file.read_bytes()
            hasher.update(f"{within}:{len(content)}\n".encode() + content)
    return hasher.hexdigest()


def path(framework: str, device: str = "", added: Sequence[str] = ()) -> Path:
    """The folder in which the environment of the present lock is, or will be."""
    return _folder() / f"{name(framework, device)}-{key(framework, device, added)}"


def find(framework: str, device: str = "") -> Path | None:
    """The environment for a device of the framework, if it is set up completely.

    For a device that a package brings it is the one with that package, the latest set up of several.
    """
    try:
        found = _bringing(framework, device) or path(framework, device)
    except OSError:
        # Without a lock there is no environment that could match it.
        return None
    return found if _is_complete(found) else None


def _is_complete(environment: Path) -> bool:
    return (environment / COMPLETE).exists() and (environment / "bin" / "python").exists()


def _bringing(framework: str, device: str) -> Path | None:
    plain = key(framework, device)
    marks = []
    for mark in _folder().glob(f"{name(framework, device)}-*/{COMPLETE}"):
        with contextlib.suppress(ValueError, OSError):
            content = json.loads(mark.read_text())
            if content.get("plain") == plain and f"{framework}.{device}" in content["brought"]:
                marks.append(mark)
    return max(marks, key=lambda mark: mark.stat().st_mtime).parent if marks else None


def set_up(framework: str, device: str = "", say: Say | None = None, added: Sequence[str] = ()) -> Path:
    """Install the environment for a device of the framework unless it is there; its path.

    ``added`` are packages that bring further devices: requirements, or folders and files of this machine.
    """
    say = say or _print
    _require_lock(framework)
    what = name(framework, device)
    with _naming_the_place(what):
        packages = [_requirement(package) for package in added]
        target = path(framework, device, packages)
        if _is_complete(target):
            say(f"{what}: its environment is ready in {target}")
            # Of several that bring a device, the one set up last serves it.
            (target / COMPLETE).touch()
            return target
        with _lock(target, what, say):
            if not _is_complete(target):
                _build(framework, device, packages, Builder(what, framework, target, say))
    return target


def set_up_release(requirement: str, say: Say | None = None) -> Path:
    """Install one release of a framework (``torch==2.15.0``) with NumPy and SciPy, unless it is there; its path.

    No lock holds it: the packages beside it are the newest that go with it on the day.
    """
    say = say or _print
    packages = [requirement, "numpy", "scipy"]
    content = [*packages, f"{sys.version_info.major}.{sys.version_info.minor}", platform.machine()]
    digest = hashlib.sha256(json.dumps(content).encode()).hexdigest()[:12]
    target = _folder() / f"{requirement.replace('==', '-')}-{digest}"
    framework = requirement.partition("==")[0].partition("[")[0]
    with _naming_the_place(requirement), _lock(target, requirement, say):
        if not _is_complete(target):
            builder = Builder(requirement, framework, target, say)
            builder.make([["install", *packages]])
            builder.complete()
    say(f"{requirement}: its environment is ready; choose it with --python {target / 'bin' / 'python'}")
    return target


def _print(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


@contextlib.contextmanager
def _naming_the_place(what: str) -> Iterator[None]:
    """Turn errors of the file system into one that names the place."""
    try:
        yield
    except OSError as error:
        raise SetupFailedError(
            f"{what}: {error.filename or _folder()}: {(error.strerror or str(error)).lower()}; "
            "make room there, or name another place for environments in PORTOLAN_CACHE"
        ) from error


def _requirement(package: str) -> str:
    """A package as uv takes it: a folder or file of this machine by its whole path."""
    source = Path(package).expanduser()
    if package and source.exists():
        return str(source.resolve())
    if not package or package.startswith((".", "~", os.sep)):
        raise SetupFailedError(f"--with {package}: there is no such folder or file; give one, or a requirement")
    return package


def _build(framework: str, device: str, added: Sequence[str], builder: Builder) -> None:
    build_may_differ = any_build(inherited())
    builder.make(_installing(lock(framework, device), added, build_may_differ))
    if build_may_differ:
        (builder.target / ANY_BUILD).touch()
    brought = _brought(framework, builder.target)
    if added and not brought:
        raise SetupFailedError(
            f"{builder.what}: {', '.join(added)} brings no device: it needs an entry point {framework}.NAME "
            f"in the group {DEVICE_GROUP}"
        )
    builder.complete(plain=key(framework, device), brought=brought)
    devices = f" with {', '.join(entry.replace('.', '/', 1) for entry in brought)}" if brought else ""
    builder.say(f"{builder.what}: environment ready{devices} after {builder.seconds:.0f} s in {builder.target}")


def _installing(locked: Path, added: Sequence[str], any_build_will_do: bool) -> Iterator[list[str]]:
    """The commands of uv: one for the packages of the lock, and one for those added among the locked versions."""
    versions = ["--constraint", str(locked), "--no-verify-hashes"]
    if any_build_will_do:
        # Resolved, not synchronised: another build of a package may need fewer packages, as torch for the CPU does.
        yield ["install", "-r", str(locked.with_name(locked.name.replace("lock", "requirements", 1))), *versions]
    else:
        yield ["sync", "--require-hashes", str(locked)]
    if added:
        yield ["install", *versions, *(part for package in added for part in (package, *_unseen(Path(package))))]


def _unseen(package: Path) -> list[str]:
    """Has uv build a folder anew: it would take what it built before unless pyproject.toml itself has changed."""
    try:
        return ["--refresh-package", tomllib.loads((package / "pyproject.toml").read_text())["project"]["name"]]
    except (OSError, ValueError, KeyError):
        return []


def _brought(framework: str, environment: Path) -> list[str]:
    """The devices of the framework that packages of the environment bring, as their entry points name them."""
    packages = [str(folder) for folder in environment.glob("lib/python*/site-packages")]
    entries = [entry for distribution in metadata.distributions(path=packages) for entry in distribution.entry_points]
    return sorted(
        entry.name for entry in entries if entry.group == DEVICE_GROUP and entry.name.startswith(f"{framework}.")
    )


class Builder:
    """Makes one environment, step by step, and reports its progress: at most one line every few seconds."""

    def __init__(self, what: str, framework: str, target: Path, say: Say) -> None:
        self.what = what
        self.target = target
        self.say = say
        self._framework = framework
        self._began = time.monotonic()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._began

    def make(self, commands: Iterable[Sequence[str]]) -> None:
        """Install what these commands of uv say, and check it: better found now than by a runner."""
        # In place, not beside it: an environment's scripts hold its path and cannot be moved.
        if self.target.exists():
            self.say(f"{self.what}: an earlier set-up was interrupted; starting again")
            shutil.rmtree(self.target)
        uv, python, variables = _find_uv(), str(self.target / "bin" / "python"), index_variables(inherited())
        self._call([uv, "venv", "--quiet", "--python", sys.executable, str(self.target)], variables)
        for command, *arguments in commands:
            self._call([uv, "pip", command, "--python", python, "--compile-bytecode", *arguments], variables)
        self._call([uv, "pip", "check", "--python", python], variables)
        # Without CUDA: a runner looks for its device when it starts.
        self._call([python, "-P", "-c", f"import {self._framework}"], {**variables, "CUDA_VISIBLE_DEVICES": ""})

    def complete(self, **facts: Any) -> None:
        """Mark the environment as complete, with facts about it."""
        mark = {"name": self.what, "seconds": round(self.seconds, 1), **facts}
        (self.target / COMPLETE).write_text(json.dumps(mark) + "\n")

    def _call(self, command: Sequence[str], variables: Mapping[str, str]) -> None:
        """Run one step; pass its words on as progress."""
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=variables,
        )
        assert process.stdout is not None
        os.set_blocking(process.stdout.fileno(), False)
        words: deque[str] = deque(maxlen=40)
        reported, rest = time.monotonic(), ""
        doing = "making it" if "venv" in command else "resolving and downloading"
        try:
            while process.poll() is None:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(0.2)
                rest = _gather(rest + (process.stdout.read() or b"").decode(errors="replace"), words)
                if words and "venv" not in command:
                    doing = words[-1]
                if time.monotonic() - reported >= PROGRESS_EVERY_S:
                    reported = time.monotonic()
                    self.say(f"{self.what}: {doing} ({self.seconds:.0f} s)")
            _gather(rest + (process.stdout.read() or b"").decode(errors="replace") + "\n", words)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
            process.stdout.close()
        if process.returncode != 0:
            tail = " ".join(" ".join(words).split())[-600:]
            advice = "run setup again to retry"
            if "hash" in tail.lower():
                advice = (
                    f"the index has another build than the lock: set {ANY_BUILD_VARIABLE}=1 to take it, "
                    "wherever portolan or portolan-runner is called"
                )
            step = Path(command[0]).name
            raise SetupFailedError(f"{self.what}: {step} ended with {process.returncode}: {tail}; {advice}")


def _gather(text: str, words: deque[str]) -> str:
    *lines, rest = text.replace("\r", "\n").split("\n")
    words.extend(line.strip() for line in lines if line.strip())
    return rest


@contextlib.contextmanager
def _lock(environment: Path, what: str, say: Say) -> Iterator[None]:
    """Hold an environment's lock, so that one process sets it up at a time; the kernel lets go when its holder ends."""
    environment.parent.mkdir(parents=True, exist_ok=True)
    with environment.with_name(f"{environment.name}.lock").open("a") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"{what}: another process is setting it up; waiting for it")
            fcntl.flock(held, fcntl.LOCK_EX)
        yield


def _find_uv() -> str:
    beside = Path(sys.executable).with_name("uv")
    found = str(beside) if beside.exists() else shutil.which("uv")
    if not found:
        raise SetupFailedError(f"uv is not installed; run: {sys.executable} -m pip install uv")
    return found


def _require_lock(framework: str) -> None:
    if not lock(framework).exists():
        raise SetupFailedError(f"{framework} brings its own environment: install it beside portolan and serve it there")


def _folder() -> Path:
    return cache() / "portolan" / "environments"
