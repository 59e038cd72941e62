"""``memory`` measures the memory of coordinator and supervisor, idle and after work, and of an assessment of a large
package with the shipped evidence.

If the kernel reports the proportional set size (which divides shared pages among their users), this is the measured
value; if not, it is the resident set size. The supervisor is a real one, for torch on the CPU. The memory of an
assessment is the largest sum over all of its processes. It is measured only with ``PORTOLAN_BENCH_INSTALL=1``, because
the package is installed, into a folder that is deleted afterwards.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

from bench.bench_instance import BenchInstance, coordinator, database, instant_runner, runner
from bench.environment import INSTALL
from bench.figure import MeasuredFigure
from bench.instant_runner import SECRET
from bench.place import PROJECT, CannotRunError, folder, say

CASES, RUNS = 2_000, 10
MB = 1_000_000
COORDINATOR_MB = 200.0
SUPERVISOR_MB = 80.0
SETTLE_S = 2.0
SUPERVISOR_JOBS = 4_000
PACKAGE, VERSION = "transformers", "5.24.0"
ASSESSMENT_MB, ASSESSMENT_S = 300.0, 20.0
LOOK_EVERY_S = 0.1


def run() -> Iterator[MeasuredFigure]:
    yield from _assessment()
    with folder() as place, database(place) as dsn, coordinator(dsn, place) as instance:
        yield from _coordinator(instance, place)
        yield from _supervisor(instance, place)


def _coordinator(instance: BenchInstance, place: Path) -> Iterator[MeasuredFigure]:
    idle = held_mb(instance.pid)
    with instant_runner(CASES, place) as (url, _):
        runner_id = instance.register(url, SECRET)
        campaign = instance.submit(runs=RUNS, suite="instant")
        instance.wait(campaign)
        after_campaign = held_mb(instance.pid)
        exports = {format: instance.export(campaign, format) for format in ("csv", "parquet")}
        after_export = held_mb(instance.pid)
        instance.remove(runner_id)
    say("memory", f"coordinator: {idle:.0f}, {after_campaign:.0f}, {after_export:.0f} MB")
    yield _figure("coordinator_idle", idle, COORDINATOR_MB, {"measure": measure(instance.pid)})
    yield _figure(
        "coordinator_after_work",
        after_export,
        COORDINATOR_MB,
        {
            "measure": measure(instance.pid),
            "jobs": CASES * RUNS,
            "after_campaign_mb": after_campaign,
            "exported_bytes": exports,
        },
    )


def _supervisor(instance: BenchInstance, place: Path) -> Iterator[MeasuredFigure]:
    with runner("torch/cpu", place) as (url, secret, pid):
        idle = held_mb(pid)
        instance.register(url, secret)
        jobs = 0
        while jobs < SUPERVISOR_JOBS:
            campaign = instance.submit(runs=1, suite="paper")
            jobs += instance.wait(campaign)["counters"]["done"]
        time.sleep(SETTLE_S)
        after = held_mb(pid)
        say("memory", f"supervisor: {idle:.0f} MB, {after:.0f} MB after {jobs} jobs")
        yield _figure("supervisor_idle", idle, SUPERVISOR_MB, {"measure": measure(pid)})
        yield _figure("supervisor_after_work", after, SUPERVISOR_MB, {"measure": measure(pid), "jobs": jobs})


def _assessment() -> Iterator[MeasuredFigure]:
    with folder() as place:
        uv = shutil.which("uv", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]))
        if uv is None or os.environ.get(INSTALL) != "1":
            reason = f"not measured: set {INSTALL}=1 and install uv"
            yield MeasuredFigure("assessment", None, "MB", f"under {ASSESSMENT_MB:g} MB", None, reason)
            return
        requirement = f"{PACKAGE}=={VERSION}"
        install = [uv, "pip", "install", "--quiet", "--no-deps", "--python", sys.executable, "--target", str(place)]
        if subprocess.run([*install, requirement], stdout=sys.stderr, check=False).returncode:
            raise CannotRunError(f"uv could not install {requirement}, for the reason above")
        command = ["-m", "coordinator", "assess", str(place / PACKAGE), "--on", "torch/xla", "--data", "shipped"]
        began = time.monotonic()
        with open(place / "report.txt", "wb") as report:
            child = subprocess.Popen([sys.executable, *command], cwd=PROJECT, stdout=report, stderr=report)
        peak_mb = _peak_mb(child)
        seconds = time.monotonic() - began
        if child.returncode:
            raise CannotRunError(
                f"the assessment failed. Its report ends with: {(place / 'report.txt').read_text().strip()[-200:]}"
            )
    say("memory", f"assessment of {requirement}: {peak_mb:.0f} MB, {seconds:.0f} s")
    yield _figure("assessment", peak_mb, ASSESSMENT_MB, {"measure": measure(os.getpid()), "package": requirement})
    yield MeasuredFigure(
        "assessment_time",
        seconds,
        "s",
        target=f"at most {ASSESSMENT_S:g} s",
        met=seconds <= ASSESSMENT_S,
        detail={"package": requirement},
    )


def _peak_mb(child: subprocess.Popen[bytes]) -> float:
    """The largest memory of a process and its descendants together, until it ends."""
    peak_mb = 0.0
    while child.poll() is None:
        with contextlib.suppress(psutil.NoSuchProcess, CannotRunError):
            descendants = psutil.Process(child.pid).children(recursive=True)
            pids = [child.pid, *(descendant.pid for descendant in descendants)]
            peak_mb = max(peak_mb, sum(map(held_mb, pids)))
        time.sleep(LOOK_EVERY_S)
    return peak_mb


def _figure(name: str, value: float, limit: float, detail: dict[str, object]) -> MeasuredFigure:
    return MeasuredFigure(
        name,
        value,
        "MB",
        target=f"under {limit:g} MB",
        met=value < limit,
        baseline="the limit",
        baseline_value=limit,
        ratio=value / limit,
        detail=detail,
    )


def held_mb(pid: int) -> float:
    for line in _read_rollup(pid).splitlines():
        if line.startswith(("Pss:", "VmRSS:")):
            return int(line.split()[1]) * 1024 / MB
    raise CannotRunError(f"the memory of process {pid} cannot be read: check whether the process has ended")


def measure(pid: int) -> str:
    return "PSS" if "Pss:" in _read_rollup(pid) else "RSS"


def _read_rollup(pid: int) -> str:
    with contextlib.suppress(OSError):
        if rollup := Path(f"/proc/{pid}/smaps_rollup").read_text():
            return rollup
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/status").read_text()
    return ""
