"""Sets up environments: installations of a framework, each with a key that is computed from all that determines it.

An environment is built once. It contains exactly the packages of a lock, by version and hash. The lock is in the
framework's folder: ``lock-DEVICE.txt`` for a device that needs other packages (``lock-cuda.txt``), otherwise
``lock.txt``. The key of an environment also depends on the Python, the machine, and the packages that add devices.
Targets with equal keys share an environment. An environment contains only third-party packages, because the project
itself is imported from its own folder.

Some packages are used only by some devices, such as CUDA's packages in torch. Environments for other devices omit these
packages. A *whole* environment has all packages and serves all devices.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import platform
import re
import shutil
import sys
import tomllib
from collections.abc import Iterator, Sequence
from importlib import import_module, metadata
from pathlib import Path

from runners import own_suites
from runners.cli import locks
from runners.cli.environment_builder import COMPLETE, Builder, Say
from runners.cli.indexes import any_build
from runners.errors import SetupFailedError, StubError
from runners.frameworks import DEVICE_GROUP, OURS, packages_to_spare
from runners.isolation.installation import ANY_BUILD, STAND_IN
from runners.settings import cache, inherited_variables
from runners.suite.framework import SparedPackages

PROJECT = Path(__file__).resolve().parents[2]
_BUILT = frozenset({"build", "dist", "__pycache__", ".git"})
"""Names of files and folders that a build creates in a package's folder. They do not belong to the package."""
LOCK = "portolan-lock.txt"
"""The file in an environment that lists its packages, if they differ from the framework's lock."""
LEFT_OUT = "portolan-left-out.txt"
"""The file in an environment that lists packages that uv must not install."""


def name(framework: str, device: str = "") -> str:
    """Return the name of the environment for a device: the framework's name, unless the device has an environment of
    its own.
    """
    device_target = OURS[framework].devices.get(device) if framework in OURS else None
    return f"{framework}-{device}" if device_target is not None and device_target.own_environment else framework


def lock(framework: str, device: str = "") -> Path:
    """Return the path of an environment's lock: its packages, each with a version and the hashes of its files."""
    variant = name(framework, device).removeprefix(framework)
    return PROJECT / "runners" / framework / f"lock{variant}.txt"


def key(framework: str, device: str = "", packages: Sequence[str] = (), whole: bool = False) -> str:
    """Compute the key of an environment: 12 hexadecimal digits of a hash over everything that determines its content.

    Raises ``OSError`` if there is no lock.
    """
    lines = lock(framework, device).read_text().splitlines()
    left_out = packages_to_spare(framework, device, whole)
    content = {
        "name": name(framework, device),
        "python": f"{sys.version_info.major}.{sys.version_info.minor}",
        "machine": platform.machine(),
        "lock": [line for line in lines if line and not line.startswith("#")],
        "added": sorted(map(_content, packages)),
        "any build": any_build(inherited_variables()),
        **({} if left_out is None else {"left out": left_out.packages}),
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:12]


def _content(package: str) -> str:
    """Return a digest of an additional local folder or file. A requirement is returned as it is."""
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


def path(framework: str, device: str = "", packages: Sequence[str] = (), whole: bool = False) -> Path:
    """Return the folder for the environment of the current lock. The folder may not exist yet."""
    return _folder() / f"{name(framework, device)}-{key(framework, device, packages, whole)}"


def find(framework: str, device: str = "") -> Path | None:
    """Find the complete environment for a device of the framework; None if there is none.

    If the device's own environment is not complete, return the *whole* environment, which has all packages of the
    framework. For a device that a package adds, return the newest environment with this package.
    """
    try:
        bringing = devices_of_packages(framework).get(device)
        candidates = [bringing] if bringing else [path(framework, device, whole=whole) for whole in (False, True)]
    except OSError:
        # Without a lock there is no environment that could match it.
        return None
    return next(filter(_is_complete, candidates), None)


def _is_complete(environment: Path) -> bool:
    return (environment / COMPLETE).exists() and (environment / "bin" / "python").exists()


def devices_of_packages(framework: str) -> dict[str, Path]:
    """Return the devices that packages add in the framework's environments, each with its newest environment."""
    by_device: dict[str, Path] = {}
    try:
        plain_keys = {key(framework, whole=whole) for whole in (False, True)}
    except OSError:
        # A framework without a lock has no environments.
        return by_device
    marks = sorted(_folder().glob(f"{name(framework)}-*/{COMPLETE}"), key=lambda mark: mark.stat().st_mtime)
    for mark in marks:
        with contextlib.suppress(ValueError, OSError):
            content = json.loads(mark.read_text())
            if content.get("plain") in plain_keys:
                by_device |= {entry.removeprefix(f"{framework}."): mark.parent for entry in content["brought"]}
    return by_device


def set_up(
    framework: str, device: str = "", say: Say | None = None, additions: Sequence[str] = (), whole: bool = False
) -> Path:
    """Install the environment for a device of the framework, unless it exists. Returns the environment's path.

    ``additions`` are packages that add devices or suites: requirements, or local folders and files. A ``whole``
    environment also has the packages that this device does not use.
    """
    say = say or _print
    _require_lock(framework)
    what = name(framework, device)
    left_out = packages_to_spare(framework, device, whole)
    with _naming_the_place(what):
        packages = [_requirement(package) for package in additions]
        target = path(framework, device, packages, whole)
        if _is_complete(target):
            say(f"{what}: its environment is ready in {target}")
            # If several environments add the same device, the one that was set up last serves it.
            (target / COMPLETE).touch()
            return target
        with _lock(target, what, say):
            if _is_complete(target):
                return target
            builder = Builder(what, framework, target, say)
            try:
                _build(framework, device, packages, builder, left_out)
            except StubError as error:
                _give_up(builder, error)
            else:
                return target
    return set_up(framework, device, say, additions, whole=True)


def set_up_release(requirement: str, say: Say | None = None, whole: bool = False) -> Path:
    """Install one release of a framework (``torch==2.15.0``) with NumPy and SciPy, unless it exists. Returns the
    environment's path.

    Such an environment has no lock. Its other packages have the newest compatible versions at the time of installation.
    """
    say = say or _print
    packages = [requirement, "numpy", "scipy"]
    framework = requirement.partition("==")[0].partition("[")[0]
    left_out = packages_to_spare(framework, whole=whole)
    content = [*packages, f"{sys.version_info.major}.{sys.version_info.minor}", platform.machine()]
    digest = hashlib.sha256(json.dumps(content + ([left_out.packages] if left_out else [])).encode()).hexdigest()[:12]
    target = _folder() / f"{requirement.replace('==', '-')}-{digest}"
    with _naming_the_place(requirement), _lock(target, requirement, say):
        if not _is_complete(target):
            builder = Builder(requirement, framework, target, say)
            try:
                _build_release(packages, builder, left_out)
            except StubError as error:
                _give_up(builder, error)
                return set_up_release(requirement, say, whole=True)
    say(f"{requirement}: its environment is ready; choose it with --python {target / 'bin' / 'python'}")
    return target


def _print(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


@contextlib.contextmanager
def _naming_the_place(what: str) -> Iterator[None]:
    """Raise ``SetupFailedError`` with the name of the folder for errors of the file system in the block."""
    try:
        yield
    except OSError as error:
        raise SetupFailedError(
            f"{what}: {error.filename or _folder()}: {(error.strerror or str(error)).lower()}; "
            "free space there, or set PORTOLAN_CACHE to another folder for environments"
        ) from error


def _requirement(package: str) -> str:
    """Return a package in the form that uv expects: the absolute path of a local folder or file, or a requirement."""
    source = Path(package).expanduser()
    if package and source.exists():
        return str(source.resolve())
    if not package or package.startswith((".", "~", os.sep)):
        raise SetupFailedError(
            f"--with {package}: there is no such folder or file; name an existing one, or a requirement such as numpy"
        )
    return package


def _build(
    framework: str, device: str, additions: Sequence[str], builder: Builder, left_out: SparedPackages | None
) -> None:
    build_may_differ = any_build(inherited_variables())
    builder.begin()
    builder.install(_installing(builder, lock(framework, device), additions, build_may_differ, left_out))
    _stand_in(builder, left_out)
    if build_may_differ:
        builder.keep(ANY_BUILD, "")
    entry_points = _entry_points(framework, builder.packages, DEVICE_GROUP)
    if additions and not entry_points and not _entry_points(framework, builder.packages, own_suites.GROUP):
        raise SetupFailedError(
            f"{builder.what}: {', '.join(additions)} offers no device or suite: give the package an entry point "
            f"{framework}.NAME in the group {DEVICE_GROUP} or {own_suites.GROUP}"
        )
    builder.complete(plain=key(framework, device, whole=left_out is None), brought=entry_points)
    devices = f" with {', '.join(entry.replace('.', '/', 1) for entry in entry_points)}" if entry_points else ""
    builder.say(f"{builder.what}: environment ready{devices} after {builder.seconds:.0f} s in {builder.target}")


def _build_release(packages: Sequence[str], builder: Builder, left_out: SparedPackages | None) -> None:
    builder.begin()
    if left_out is None:
        builder.install([["install", *packages]])
    else:
        # The devices that a package adds are known only when it has been resolved, which does not download it.
        request, full_lock = builder.keep("portolan-asked.txt", "\n".join(packages)), builder.target / LOCK
        builder.install(
            [["compile", "--quiet", "--no-header", "--no-annotate", "--output-file", str(full_lock), request]]
        )
        builder.install([["sync", builder.keep(LOCK, locks.without(full_lock.read_text(), left_out.packages))]])
    _stand_in(builder, left_out)
    builder.complete()


def _installing(
    builder: Builder,
    lock_file: Path,
    additions: Sequence[str],
    any_build_will_do: bool,
    left_out: SparedPackages | None,
) -> Iterator[list[str]]:
    """Yield the commands of uv. The first command installs the packages of the lock. The second command installs
    additional packages without changing the locked versions."""
    versions = ["--constraint", str(lock_file), "--no-verify-hashes"]
    if left_out is not None:
        lock = lock_file.read_text()
        without = builder.keep(LOCK, locks.without(lock, left_out.packages))
        # uv replaces every requirement of an omitted package by one that never applies, and so never installs it.
        names = [name for name in locks.names(lock) if re.fullmatch(left_out.packages, name)]
        never = "".join(f"{name} ; python_version < '0'\n" for name in names)
        versions += ["--override", builder.keep(LEFT_OUT, never)]
    if any_build_will_do:
        # The packages are resolved and not synchronized, because another build of a package may need fewer packages, as
        # torch for the CPU does.
        yield ["install", "-r", str(lock_file.with_name(lock_file.name.replace("lock", "requirements", 1))), *versions]
    else:
        yield ["sync", "--require-hashes", str(lock_file) if left_out is None else without]
    if additions:
        yield ["install", *versions, *(part for package in additions for part in (package, *_unseen(Path(package))))]


def _stand_in(builder: Builder, left_out: SparedPackages | None) -> None:
    """Install stubs in place of the omitted packages, and check the environment. Raises ``StubError`` if the framework
    does not work with the stubs."""
    if left_out is None:
        builder.check()
        return
    module, _, function = left_out.stand_in.partition(":")
    if stand_ins := getattr(import_module(module), function)(builder.packages):
        builder.keep(STAND_IN, f"{json.dumps(stand_ins)}\n")
    try:
        builder.check(left_out.packages)
    except SetupFailedError as error:
        raise StubError(str(error)) from error


def _give_up(builder: Builder, error: StubError) -> None:
    """Remove an environment that does not work without the omitted packages."""
    builder.say(f"{builder.what}: it does not work without its accelerator's packages ({error}); installing them too")
    shutil.rmtree(builder.target)


def _unseen(package: Path) -> list[str]:
    """Return options that make uv rebuild the package of a folder.

    Without them, uv reuses an earlier build unless pyproject.toml has changed.
    """
    try:
        return ["--refresh-package", tomllib.loads((package / "pyproject.toml").read_text())["project"]["name"]]
    except (OSError, ValueError, KeyError):
        return []


def _entry_points(framework: str, packages: Path, group: str) -> list[str]:
    """Return the names of the entry points by which installed packages add devices or suites to the framework."""
    distributions = metadata.distributions(path=[str(packages)])
    entries = [entry for distribution in distributions for entry in distribution.entry_points]
    return sorted(entry.name for entry in entries if entry.group == group and entry.name.startswith(f"{framework}."))


@contextlib.contextmanager
def _lock(environment: Path, what: str, say: Say) -> Iterator[None]:
    """Hold the lock of an environment, so that only one process builds it at a time. The kernel releases the lock when
    this process ends."""
    environment.parent.mkdir(parents=True, exist_ok=True)
    with environment.with_name(f"{environment.name}.lock").open("a") as lock_file:
        try:
            fcntl.flock(lock_file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"{what}: another process is setting it up; waiting for it")
            fcntl.flock(lock_file, fcntl.LOCK_EX)
        yield


def _require_lock(framework: str) -> None:
    if not lock(framework).exists():
        raise SetupFailedError(
            f"{framework} has no environment that Portolan can set up: install it beside portolan and serve it there"
        )


def _folder() -> Path:
    return cache() / "portolan" / "environments"
