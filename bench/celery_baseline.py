"""Measures Celery with Redis on the same cores: no-op tasks, prefork workers, every result stored in Redis.

The bench uses the Redis server that is installed on the machine. With PORTOLAN_BENCH_INSTALL=1, it installs Redis with
apt-get if that is allowed. Celery is installed in an environment that is deleted afterwards.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.environment import INSTALL
from bench.place import CannotRunError, folder, free_port, process, wait_until

TASKS = 5_000
LIMIT_S = 300.0


@dataclass(frozen=True)
class CeleryRate:
    per_second: float
    tasks: int
    words: str


def tasks_per_second() -> CeleryRate:
    """Raises ``CannotRunError`` if Celery cannot be measured on this machine."""
    redis = _redis_server()
    with folder() as place:
        python = _environment(place / "venv")
        port, log = free_port(), place / "redis.log"
        # Nothing is written to disk, which is an advantage for Celery.
        command = [redis, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
        variables = {"CELERY_BENCH_REDIS": f"redis://127.0.0.1:{port}/0"}
        with process(command, log) as server:
            wait_until(lambda: True if "eady to accept" in log.read_text(errors="replace") else None, server, log)
            _run([str(python), "-m", "bench.celery_tasks", "submit", str(TASKS)], variables)
            workers = os.cpu_count() or 1
            worker = [
                str(python), "-m", "celery", "-A", "bench.celery_tasks", "worker", "--pool", "prefork",
                "--concurrency", str(workers), "--loglevel", "ERROR",
                "--without-gossip", "--without-mingle", "--without-heartbeat",
            ]  # fmt: skip
            with process(worker, place / "celery.log", variables):
                output = _run([str(python), "-m", "bench.celery_tasks", "wait", str(TASKS)], variables)
    version, rate = output.split()
    return CeleryRate(float(rate), TASKS, f"Celery {version}, {workers} prefork workers, results in Redis, no-op tasks")


def _redis_server() -> str:
    redis_server = shutil.which("redis-server")
    if redis_server is None and os.environ.get(INSTALL) == "1" and os.geteuid() == 0 and shutil.which("apt-get"):
        quiet = {"DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1"}
        subprocess.run(["apt-get", "update", "-qq"], stdout=sys.stderr, check=False)
        _run(["apt-get", "install", "-y", "-qq", "--no-install-recommends", "redis-server"], quiet)
        redis_server = shutil.which("redis-server")
    if redis_server is None:
        raise CannotRunError(
            f"redis-server was not found: install Redis; or let this script install Redis: set {INSTALL}=1 and run the "
            "script as root on a machine with apt-get"
        )
    return redis_server


def _environment(path: Path) -> Path:
    uv = shutil.which("uv", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]))
    if uv is None:
        raise CannotRunError(
            "uv was not found beside this Python or on PATH, and is needed to install Celery: install uv"
        )
    _run([uv, "venv", "--quiet", "--python", sys.executable, str(path)])
    python = path / "bin" / "python"
    _run([uv, "pip", "install", "--quiet", "--python", str(python), "celery[redis]"])
    return python


def _run(command: Sequence[str], variables: dict[str, str] | None = None) -> str:
    try:
        completed_process = subprocess.run(
            command,
            env={**os.environ, **(variables or {})},
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise CannotRunError(
            f"{command[0]} took longer than {LIMIT_S:.0f} s: run the bench on an idle machine"
        ) from error
    if completed_process.returncode:
        last = (completed_process.stderr.strip() or completed_process.stdout.strip() or "no output").splitlines()[-1]
        raise CannotRunError(
            f"`{' '.join(command)}` failed ({last}): run this command by itself to see its whole output"
        )
    return completed_process.stdout
