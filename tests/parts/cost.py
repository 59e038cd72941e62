"""The cost of a test run: by part, by file, and the time in which cores were idle."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tests.parts.record import PartRecord, Record
from tests.parts.run import Run

SHOWN_FILES = 25


def record(runs: Sequence[Run], *, level: int, cores: int, wall_s: float, idle_s: float) -> Record:
    return Record(
        level=level,
        cores=cores,
        wall_s=wall_s,
        idle_s=idle_s,
        parts={run.part.name: _part(run) for run in runs},
    )


def _part(run: Run) -> PartRecord:
    census = run.census()
    files = {file: (cost.tests, cost.wall_s, cost.cpu_s) for file, cost in census.files.items()}
    return PartRecord(
        tests=census.tests,
        resting=census.resting,
        members=census.members,
        wall_s=run.wall_s,
        cpu_s=run.cpu_s,
        files=files,
    )


def headline(record: Record) -> str:
    minutes, seconds = divmod(round(record["wall_s"]), 60)
    cpu_s = sum(part["cpu_s"] for part in record["parts"].values())
    idle = record["idle_s"] / (record["cores"] * record["wall_s"])
    tests = sum(part["tests"] for part in record["parts"].values())
    resting = sum(part["resting"] for part in record["parts"].values())
    left = f" ({resting} left to other changes)" if resting else ""
    return (
        f"level {record['level']}: {tests} tests{left} in {minutes} min {seconds:02d} s on {record['cores']} cores, "
        f"{cpu_s:.0f} s of CPU, cores idle {idle:.0%} of the time"
    )


def table(record: Record) -> str:
    """The cost of the parts, of the coordinator's folders, and of the most expensive files."""
    lines = [headline(record), "", f"{'part':<14}{'tests':>7}{'members':>9}{'wall s':>8}{'CPU s':>8}"]
    for name, part in sorted(record["parts"].items(), key=lambda item: -item[1]["cpu_s"]):
        counts = f"{part['tests']:>7}{part['members']:>9}"
        lines.append(f"{name:<14}{counts}{part['wall_s']:>8.0f}{part['cpu_s']:>8.0f}")
    by_folder, by_file = Counter[str](), Counter[str]()
    for part in record["parts"].values():
        for file, (_, _, cpu_s) in part["files"].items():
            by_file[file] += cpu_s
            by_folder["/".join(file.split("/")[:3] if "/frameworks/" in file else file.split("/")[:2])] += cpu_s
    lines += ["", "folder".ljust(52) + "CPU s".rjust(8)]
    lines += [f"{folder:<52}{cpu_s:>8.0f}" for folder, cpu_s in by_folder.most_common()]
    lines += ["", "file".ljust(72) + "CPU s".rjust(8)]
    lines += [f"{file:<72}{cpu_s:>8.1f}" for file, cpu_s in by_file.most_common(SHOWN_FILES)]
    return "\n".join(lines)
