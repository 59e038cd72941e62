"""Charting: runs a whole suite on one device and writes a bundle, without a coordinator.

Every case runs like a job from a coordinator, and in the same order: run 1 of all cases comes before run 2 of any case.
Progress goes to stderr.
"""

from __future__ import annotations

import asyncio
import itertools
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import TextIO

from pydantic import ValidationError

from protocol.bundle import BundledOutcome, BundleHeader
from protocol.catalogue import Catalogue, CatalogueSuite, representatives
from protocol.enums import DEFAULT_TIMED_CASES, DEFAULT_TIMING, TimedCases, TimingPolicy
from protocol.function_names import choose_functions, no_function_matches
from protocol.jobs import Job
from protocol.model import first_fault
from protocol.runner import RunnerInfo
from runners.cli.bundle import BundleWriter
from runners.cli.foreground import open_supervisor, read_finishes
from runners.errors import BundleWriteError, FrameworkBrokenError
from runners.http.description import describe
from runners.isolation import scratch
from runners.isolation.attempts import Task
from runners.isolation.events import EventLog
from runners.isolation.fork_server import Interpreter
from runners.isolation.supervisor import Supervisor

AHEAD = 64
"""The maximum number of tasks in the supervisor. It is small, because the supervisor searches its queue often."""
LOOK_EVERY_S = 1.0
WRITE_OVER_EVERY_S = 0.2
WRITE_EVERY_S = 10.0
"""The seconds between lines of progress if lines cannot be overwritten."""


@dataclass(frozen=True)
class ChartingOptions:
    """The command line options for charting a suite."""

    framework: str
    device: str
    interpreter: Interpreter
    suite: str
    functions: Sequence[str]
    runs: int
    timeout_s: float
    timing: TimingPolicy | None
    """The timing policy; None for the policy that the suite declares."""
    timed_cases: TimedCases | None
    """Which cases are timed; None for the choice that the suite declares."""
    memory_limit: int | None
    slots: int
    out: Path


async def chart(order: ChartingOptions) -> None:
    """Run the suite. If an earlier, interrupted run has written a part of the bundle, only the missing cases run.
    Raises ``BundleWriteError``."""
    with BundleWriter(order.out) as bundle:
        scratch.sweep()
        target = order.framework, order.device
        progress: Progress | None = None
        try:
            async with open_supervisor(*target, order.memory_limit, order.interpreter, order.slots) as (
                supervisor,
                log,
                offer,
            ):
                suite, unknown = select(offer.catalogue(), order.suite, order.functions)
                if unknown:
                    print(
                        f"not run, because the suite has no case of these functions: {', '.join(unknown)}",
                        file=sys.stderr,
                    )
                description = await supervisor.look()
                header = header_of(order, suite, describe(*target, description, order.interpreter, supervisor.slots))
                bundle.begin(header)
                progress = Progress(bundle, header.outcomes)
                await _run(supervisor, log, bundle, header, progress)
        except (asyncio.CancelledError, FrameworkBrokenError, BundleWriteError):
            if progress is not None:
                progress.say_stopped()
            raise
        bundle.complete()
        progress.say_end()


def header_of(order: ChartingOptions, suite: CatalogueSuite, runner: RunnerInfo) -> BundleHeader:
    """Make the header of the bundle. Raises ``BundleWriteError`` for a value that a bundle cannot contain."""
    try:
        return BundleHeader(
            portolan=_version(),
            begun_at=datetime.now(UTC),
            runner=runner,
            suite=suite,
            functions=list(order.functions),
            runs=order.runs,
            timeout_s=order.timeout_s,
            timing=order.timing or suite.timing or DEFAULT_TIMING,
            timed_cases=order.timed_cases or suite.timed_cases or DEFAULT_TIMED_CASES,
        )
    except ValidationError as error:
        raise BundleWriteError(f"no valid bundle can be written ({first_fault(error)}): correct this option") from error


async def _run(
    supervisor: Supervisor, log: EventLog, bundle: BundleWriter, header: BundleHeader, progress: Progress
) -> None:
    remaining_tasks = tasks(header, bundle)
    running: dict[str, Task] = {}
    last_seen = 0
    while len(bundle.done) < header.outcomes:
        if len(running) <= AHEAD // 2:
            more = {task.job.id: task for task in itertools.islice(remaining_tasks, AHEAD - len(running))}
            running |= more
            supervisor.submit(more.values())
        await log.wait_for_event(last_seen, LOOK_EVERY_S)
        last_seen, lines = log.after(last_seen)
        for event in read_finishes(lines):
            job = running.pop(event.id).job
            bundle.add(BundledOutcome(case=job.case, run=job.run, finished_at=datetime.now(UTC), outcome=event.outcome))
        log.acknowledge(last_seen)
        if supervisor.broken.is_set():
            raise FrameworkBrokenError(f"no further case can be run ({supervisor.failure}): repeat the command")
        progress.show()


def tasks(header: BundleHeader, bundle: BundleWriter) -> Iterator[Task]:
    """Yield the tasks that the bundle does not have yet, run by run."""
    cases = header.suite.cases
    to_time = representatives(cases) if header.timed_cases is TimedCases.representative else {case.id for case in cases}
    for run in range(1, header.runs + 1):
        for number, case in enumerate(cases):
            if (case.id, run) not in bundle.done:
                job = Job(
                    id=f"{number}.{run}",
                    attempt=1,
                    case=case.id,
                    run=run,
                    timeout_s=header.timeout_s,
                    timing=header.timing if case.id in to_time else TimingPolicy.off,
                )
                yield Task(job, header.suite.name, case.function)


def select(catalogue: Catalogue, suite: str, functions: Sequence[str]) -> tuple[CatalogueSuite, tuple[str, ...]]:
    """Return the suite with only the cases of these functions, and the globs that match nothing.

    Raises ``BundleWriteError`` if no glob matches.
    """
    offer = next((candidate for candidate in catalogue.suites if candidate.name == suite), None)
    if offer is None:
        names = ", ".join(candidate.name for candidate in catalogue.suites)
        raise BundleWriteError(
            f"there is no suite {suite!r}; choose one of {names}, or, for your own suite, write its path as ./{suite}"
        )
    known_names = {case.function for case in offer.cases}
    choice = choose_functions(functions, known_names)
    if not choice.functions:
        raise BundleWriteError(f"{no_function_matches(choice.unknown, known_names)} in the suite {suite!r}")
    cases = [case for case in offer.cases if case.function in choice.functions]
    return offer.model_copy(update={"cases": cases}), choice.unknown


class Progress:
    """Prints progress: cases done and failing, rate and time left. On a terminal, one line is overwritten. Elsewhere,
    new lines are printed at intervals."""

    def __init__(self, bundle: BundleWriter, total: int, stream: TextIO | None = None) -> None:
        self._bundle = bundle
        self._total = total
        self._stream = stream or sys.stderr
        self._over = self._stream.isatty()
        self._begun = self._shown = time.monotonic()
        if bundle.kept:
            self._say(f"{bundle.part}: continuing after {bundle.kept:,} of {total:,}")

    def show(self) -> None:
        now = time.monotonic()
        if now - self._shown < (WRITE_OVER_EVERY_S if self._over else WRITE_EVERY_S):
            return
        self._shown = now
        if self._over:
            self._stream.write(f"\r\x1b[K{self._line(now)}")
            self._stream.flush()
        else:
            self._say(self._line(now))

    def say_end(self) -> None:
        self._end_line()
        self._say(f"{self._line(time.monotonic())}; complete: {self._bundle.path}")

    def say_stopped(self) -> None:
        self._end_line()
        jobs_done = len(self._bundle.done)
        if jobs_done:
            self._say(
                f"{jobs_done:,} of {self._total:,} are stored in {self._bundle.part}: repeat the command to continue"
            )

    def _line(self, now: float) -> str:
        bundle = self._bundle
        return progress_line(len(bundle.done), self._total, bundle.failing, bundle.kept, now - self._begun)

    def _end_line(self) -> None:
        if self._over:
            self._stream.write("\r\x1b[K")

    def _say(self, line: str) -> None:
        print(line, file=self._stream, flush=True)


def progress_line(jobs_done: int, total: int, failing: int, jobs_kept: int, elapsed_s: float) -> str:
    """Return the progress as text: ``120/573 done, 4 failing, 2.3/s, 3 min 17 s left``.

    The rate counts only jobs that ran since this start.
    """
    line = f"{jobs_done:,}/{total:,} done, {failing:,} failing"
    if jobs_done == jobs_kept or elapsed_s <= 0:
        return line
    rate = (jobs_done - jobs_kept) / elapsed_s
    minutes, seconds = divmod(round((total - jobs_done) / rate), 60)
    hours, minutes = divmod(minutes, 60)
    left = f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {seconds:02d} s" if minutes else f"{seconds} s"
    pace = f"{rate:.1f}/s" if rate >= 1 else f"{60 * rate:.1f}/min"
    return f"{line}, {pace}, {left} left" if jobs_done < total else f"{line}, {pace}"


def _version() -> str:
    try:
        return metadata.version("portolan")
    except metadata.PackageNotFoundError:
        return "unknown"
