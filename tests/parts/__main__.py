"""``python -m tests.parts`` runs all parts of the tests from one queue, the longest first, so that no core is idle.

``--cost`` shows the cost of the last run, ``--sizes`` stores its numbers of tests.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable, Sequence
from types import FrameType

import psutil

from tests import levels
from tests.parts import cost, durations, sizes
from tests.parts.plan import Part, parts, startable
from tests.parts.record import Record
from tests.parts.run import ROOT, Run
from tests.parts.sizes import Size

FOLDER = ROOT / "build" / "tests"
LAST_RUN = FOLDER / "last-run.json"
LOOKS_EVERY_S = 0.2
SAYS_EVERY_S = 30.0


def main(arguments: Sequence[str] | None = None) -> int:
    options = _arguments(arguments)
    if options.cost:
        return _show_last(cost.table)
    if options.sizes:
        return _show_last(_write_sizes)
    cores = len(os.sched_getaffinity(0))
    chosen_parts = [part for part in parts(cores) if not options.parts or part.name in options.parts]
    os.environ[levels.SEED_VARIABLE] = levels.seed()
    print(levels.pytest_report_header(), flush=True)
    shutil.rmtree(FOLDER, ignore_errors=True)
    _store_touched()
    signal.signal(signal.SIGTERM, _interrupt)
    began, idle_began = time.monotonic(), _idle_s()
    runs = _run_all(chosen_parts, slots=cores + 1)
    record = cost.record(
        runs, level=levels.LEVEL, cores=cores, wall_s=time.monotonic() - began, idle_s=_idle_s() - idle_began
    )
    LAST_RUN.write_text(json.dumps(record))
    print(cost.headline(record))
    return 1 if any(_has_failed(run) for run in runs) else 0


def _store_touched() -> None:
    """Find the files of the change once for all processes."""
    FOLDER.mkdir(parents=True)
    file = FOLDER / "touched.txt"
    file.write_text("\n".join(sorted(levels.touched())))
    os.environ[levels.TOUCHED_VARIABLE] = str(file)


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.parts", description=__doc__)
    names = [part.name for part in parts(1)]
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"run only these parts: {', '.join(names)}")
    parser.add_argument("--cost", action="store_true", help="show the cost of the last run")
    parser.add_argument("--sizes", action="store_true", help="store the numbers of tests of the last run")
    options = parser.parse_args(arguments)
    if unknown := set(options.parts) - set(names):
        parser.error(f"{', '.join(sorted(unknown))}: no part has this name; the parts are {', '.join(names)}")
    return options


def _run_all(parts: Sequence[Part], slots: int) -> list[Run]:
    """Run the parts until all have ended. If a part fails, the others still run."""
    waiting, running, runs = list(parts), list[Run](), list[Run]()
    says_at = time.monotonic() + SAYS_EVERY_S
    began = time.monotonic()
    seconds = durations.read().parts
    try:
        while waiting or running:
            for part in startable(waiting, [run.part for run in running], slots, seconds):
                waiting.remove(part)
                running.append(Run(part, FOLDER / part.name))
            for run in [run for run in running if run.has_ended()]:
                running.remove(run)
                runs.append(run)
                _say_end(run)
            if time.monotonic() > says_at:
                says_at += SAYS_EVERY_S
                under_way = ", ".join(f"{run.part.name} {run.percent}" for run in running)
                rest = f"; waiting: {', '.join(part.name for part in waiting)}" if waiting else ""
                print(f"{time.monotonic() - began:5.0f} s  {under_way}{rest}", flush=True)
            time.sleep(LOOKS_EVERY_S)
    finally:
        for run in running:
            run.stop()
    return runs


def _has_failed(run: Run) -> bool:
    return run.exit_code != 0 or _size_complaint(run) is not None


def _say_end(run: Run) -> None:
    """Print one line for a part that passed, and the whole output of a part that failed."""
    if run.exit_code != 0:
        print(run.text, flush=True)
    print(f"{run.part.name}: {run.summary}; {run.cpu_s:.0f} s of CPU", flush=True)
    if run.exit_code == 0 and (complaint := _size_complaint(run)):
        print(f"{run.part.name}: {complaint}", flush=True)


def _size_complaint(run: Run) -> str | None:
    if run.part.program:
        return None
    counts = run.census()
    suites = any(path.startswith("runners/") and "/suites/" in path for path in levels.touched())
    expected_size = sizes.read_sizes().get(levels.LEVEL, {}).get(run.part.name)
    actual = Size(counts.tests + counts.resting, counts.members)
    return sizes.complaint(expected_size, actual, grown_by_change=suites, is_whole=not counts.resting)


def _show_last(show: Callable[[Record], str]) -> int:
    if not LAST_RUN.is_file():
        print("build/tests has no record of a run: run make test first", file=sys.stderr)
        return 2
    print(show(json.loads(LAST_RUN.read_text())))
    return 0


def _write_sizes(record: Record) -> str:
    stored_sizes = {level: dict(of_level) for level, of_level in sizes.read_sizes().items()}
    of_level = stored_sizes.setdefault(record["level"], {})
    for name, part in record["parts"].items():
        if not part["tests"]:
            continue
        # Tests that were left to other changes have checked no members.
        members = max(part["members"], of_level[name].members if part["resting"] and name in of_level else 0)
        of_level[name] = Size(part["tests"] + part["resting"], members)
    sizes.PATH.write_text(sizes.sizes_as_toml(stored_sizes))
    if record["level"] == 1:
        durations.PATH.write_text(durations.merge(record, durations.read()))
    return f"wrote {sizes.PATH.relative_to(ROOT)} and {durations.PATH.relative_to(ROOT)}: review their changes"


def _idle_s() -> float:
    times = psutil.cpu_times()
    return float(times.idle + getattr(times, "iowait", 0.0))


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
