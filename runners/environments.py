"""Environments: a framework's own installation, keyed by its lock and set up once.

A lock is everything that decides what gets installed: the framework's constraints, the
project's requirements, the Python and the machine. Targets with one lock share one
environment. It holds third-party packages only; the project itself comes by PYTHONPATH.
Standard library only: this runs before anything is installed.
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
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
COMPLETE = "portolan-complete.json"
"""Written last: an environment without it was interrupted, and is made again."""
PROGRESS_EVERY_S = 5.0
EXTRA = "probe"
"""Installed beside the framework: what the project's tests need inside its environment."""

Say = Callable[[str], None]


class SetupFailedError(Exception):
    """The environment could not be set up; the message is one line. The next call starts anew."""


def extra(framework: str, device: str = "") -> str:
    """What is installed for a device: the framework's extra, or the device's own where it has one."""
    own = f"{framework}-{device}"
    return own if own in _project()["optional-dependencies"] else framework


def key(framework: str, device: str = "") -> str:
    """12 hex digits over the lock."""
    project = _project()
    lock = {
        "framework": framework,
        "python": f"{sys.version_info.major}.{sys.version_info.minor}",
        "machine": platform.machine(),
        "base": project["dependencies"],
        "extras": [project["optional-dependencies"].get(name, []) for name in (extra(framework, device), EXTRA)],
        "constraints": constraints(framework).read_bytes().hex() if constraints(framework).exists() else "",
    }
    return hashlib.sha256(json.dumps(lock, sort_keys=True).encode()).hexdigest()[:12]


def constraints(framework: str) -> Path:
    return PROJECT / "runners" / framework / "constraints.txt"


def path(framework: str, device: str = "") -> Path:
    """Where the environment of the present lock is, or will be."""
    return _cache() / "portolan" / "environments" / f"{extra(framework, device)}-{key(framework, device)}"


def find(framework: str, device: str = "") -> Path | None:
    """The environment for a device of the framework, if it is set up completely."""
    try:
        found = path(framework, device)
    except (OSError, KeyError):
        # Without the project's own files there is no lock, and nothing that could match it.
        return None
    return found if (found / COMPLETE).exists() and (found / "bin" / "python").exists() else None


def set_up(framework: str, device: str = "", say: Say | None = None) -> Path:
    """Install the environment for a device of the framework unless it is there; its path."""
    say = say or (lambda line: print(line, file=sys.stderr, flush=True))
    _require_extra(framework)
    target = path(framework, device)
    what = extra(framework, device)
    if find(framework, device):
        say(f"{what}: its environment is ready in {target}")
        return target
    uv = _find_uv()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with _lock(target.with_name(f"{target.name}.lock"), what, say):
            if not find(framework, device):
                _build(framework, what, target, uv, say)
    except OSError as error:
        raise SetupFailedError(
            f"{what}: {target} cannot be written ({error.strerror or error}); "
            "make room there, or name another place in PORTOLAN_CACHE"
        ) from error
    return target


def _build(framework: str, what: str, target: Path, uv: str, say: Say) -> None:
    began = time.monotonic()
    # In place, not beside it: an environment's scripts hold its path and cannot be moved.
    if target.exists():
        say(f"{what}: an earlier set-up was interrupted; starting again")
        shutil.rmtree(target)
    variables = index_variables(os.environ)
    _call([uv, "venv", "--quiet", "--python", sys.executable, str(target)], variables, what, began, say)
    command = [
        *(uv, "pip", "install", "--python", str(target / "bin" / "python"), "--compile-bytecode"),
        *("-r", str(PROJECT / "pyproject.toml"), "--extra", what, "--extra", EXTRA),
    ]
    if constraints(framework).exists():
        command += ["-c", str(constraints(framework))]
    _call(command, variables, what, began, say)
    _check(framework, target, uv, variables, what, began, say)
    took = time.monotonic() - began
    (target / COMPLETE).write_text(json.dumps({"extra": what, "seconds": round(took, 1)}) + "\n")
    say(f"{what}: environment ready after {took:.0f} s in {target}")


def _check(
    framework: str, target: Path, uv: str, variables: Mapping[str, str], what: str, began: float, say: Say
) -> None:
    """Every requirement is met, and the framework can be imported: better found now than by a runner."""
    python = str(target / "bin" / "python")
    _call([uv, "pip", "check", "--python", python], variables, what, began, say)
    # Not on CUDA's account: what needs a device is asked of it in its own time.
    _call([python, "-P", "-c", f"import {framework}"], {**variables, "CUDA_VISIBLE_DEVICES": ""}, what, began, say)


def _call(command: list[str], variables: Mapping[str, str], what: str, began: float, say: Say) -> None:
    """Run one step; pass its words on as progress, at most one line every few seconds."""
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=dict(variables),
    )
    assert process.stdout is not None
    os.set_blocking(process.stdout.fileno(), False)
    words: deque[str] = deque(maxlen=40)
    said, rest = time.monotonic(), ""
    doing = "making it" if "venv" in command else "resolving and downloading"
    try:
        while process.poll() is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(0.2)
            rest = _gather(rest + (process.stdout.read() or b"").decode(errors="replace"), words)
            if words and "venv" not in command:
                doing = words[-1]
            if time.monotonic() - said >= PROGRESS_EVERY_S:
                said = time.monotonic()
                say(f"{what}: {doing} ({said - began:.0f} s)")
        _gather(rest + (process.stdout.read() or b"").decode(errors="replace") + "\n", words)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        process.stdout.close()
    if process.returncode != 0:
        tail = " ".join(" ".join(words).split())[-600:]
        step = Path(command[0]).name
        raise SetupFailedError(f"{what}: {step} ended with {process.returncode}: {tail}; run setup again to retry")


def _gather(text: str, words: deque[str]) -> str:
    *lines, rest = text.replace("\r", "\n").split("\n")
    words.extend(line.strip() for line in lines if line.strip())
    return rest


def index_variables(inherited: Mapping[str, str]) -> dict[str, str]:
    """uv's environment: what is configured for pip holds for uv, unless uv has its own word on it."""
    variables = dict(inherited)
    for ours, theirs in (
        ("UV_DEFAULT_INDEX", "PIP_INDEX_URL"),
        ("UV_INDEX", "PIP_EXTRA_INDEX_URL"),
        ("UV_FIND_LINKS", "PIP_FIND_LINKS"),
        ("SSL_CERT_FILE", "PIP_CERT"),
    ):
        if theirs in inherited and not any(name in inherited for name in (ours, f"{ours}_URL")):
            variables[ours] = inherited[theirs]
    # Compiled once here, or on every start of every runner.
    for name in ("PYTHONDONTWRITEBYTECODE", "PYTHONPATH", "VIRTUAL_ENV"):
        variables.pop(name, None)
    variables["UV_COMPILE_BYTECODE_TIMEOUT"] = variables.get("UV_COMPILE_BYTECODE_TIMEOUT", "300")
    return variables


@contextlib.contextmanager
def _lock(file: Path, what: str, say: Say) -> Iterator[None]:
    """One set-up of an environment at a time; the kernel lets go when its process ends."""
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"{what}: another process is setting it up; waiting for it")
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _find_uv() -> str:
    beside = Path(sys.executable).with_name("uv")
    found = str(beside) if beside.exists() else shutil.which("uv")
    if not found:
        raise SetupFailedError(f"uv is not installed; run: {sys.executable} -m pip install uv")
    return found


def _require_extra(framework: str) -> None:
    if framework not in _project()["optional-dependencies"]:
        raise SetupFailedError(f"{framework} brings its own environment: install it beside portolan and serve it there")


def _project() -> Mapping[str, dict[str, list[str]]]:
    with (PROJECT / "pyproject.toml").open("rb") as file:
        project: Mapping[str, dict[str, list[str]]] = tomllib.load(file)["project"]
    return project


def _cache() -> Path:
    for name in ("PORTOLAN_CACHE", "XDG_CACHE_HOME"):
        if os.environ.get(name):
            return Path(os.environ[name]).expanduser().absolute()
    return Path.home() / ".cache"
