"""A trial: one mutant in a copy of the project, and its related tests, the fastest first, until one fails.

A test that also fails without the mutant has not detected it. So each failing test is repeated in the unchanged copy.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO

from tests.levels import LEVEL_VARIABLE, SEED_VARIABLE
from tests.mutation.areas import AREAS
from tests.mutation.candidates import PROJECT, Mutant

HANG_S = 240.0
"""Seconds without output after which a test run counts as hanging."""
FAILED = re.compile(r"^(?:FAILED|ERROR) (tests/[^\s\[]+(?:\[.*?\])?)(?= - |$)", re.MULTILINE)
KINDS = ("unit", "integration")
"""Folders whose tests are in a folder named like the tested code."""
NO_TESTS = 5
"""pytest's exit code."""


@dataclass(frozen=True)
class TrialResult:
    """The outcome of a trial: the test that detected the mutant, or the reason why none did."""

    test: str | None
    seconds: float
    reason: str = ""

    @property
    def is_noticed(self) -> bool:
        return self.test is not None

    def __str__(self) -> str:
        if self.test is None:
            return f"SURVIVED after {self.seconds:.0f} s ({self.reason})"
        return f"noticed by {self.test} after {self.seconds:.0f} s"


@dataclass(frozen=True)
class TestRun:
    """One run of pytest. ``exit_code`` is None if the run was stopped."""

    __test__ = False

    tests: Sequence[str]
    exit_code: int | None
    output: str
    hung: bool = False

    @property
    def culprit(self) -> str:
        """The test that failed, or during which the run hung."""
        if self.hung:
            return f"{self.output.rstrip().rpartition('::')[2].split()[0]} (hangs)"
        match = FAILED.search(self.output)
        return match[1] if match else f"pytest itself ({self.output.strip().splitlines()[-1]})"


class TreeCopy:
    """A copy of the checkout, with uncommitted changes: ``with TreeCopy() as copy: copy.test(mutant, 900)``."""

    def __init__(self, *, is_quick: bool = False) -> None:
        """With ``is_quick``, only unit and integration tests run."""
        self._is_quick = is_quick
        self.place = Path(tempfile.mkdtemp(prefix="portolan-mutants-"))
        self._mutated = 0
        self._passes: dict[str, bool] = {}

    def __enter__(self) -> TreeCopy:
        # PostgreSQL's own user starts a module of ours.
        self.place.chmod(0o755)
        listing = subprocess.run(
            ["git", "-C", PROJECT, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            capture_output=True,
            check=True,
        )
        for name in listing.stdout.decode().split("\0"):
            if name and (PROJECT / name).is_file():
                (self.place / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(PROJECT / name, self.place / name)
        self._require_own_modules()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        shutil.rmtree(self.place, ignore_errors=True)

    def test(self, mutant: Mutant, limit_s: float) -> TrialResult:
        source = (self.place / mutant.file).read_bytes()
        began = time.monotonic()
        self._write(mutant.file, mutant.change.apply(source))
        try:
            run = self._run_stages(stages_of(mutant, self.place), limit_s)
        finally:
            self._write(mutant.file, source)
        took = time.monotonic() - began
        if run.exit_code == 0:
            return TrialResult(None, took, "every test passes")
        if run.exit_code == NO_TESTS:
            return TrialResult(None, took, "there is no test")
        if run.exit_code is None and not run.hung:
            return TrialResult(None, took, "the time is up, and no test has failed")
        if not run.hung and not self._passes_without(run, limit_s):
            return TrialResult(None, took, f"{run.culprit} fails without it too")
        return TrialResult(run.culprit, took)

    def _run_stages(self, stages: Sequence[Sequence[str]], limit_s: float) -> TestRun:
        until = time.monotonic() + limit_s
        run = TestRun([], NO_TESTS, "")
        for stage in stages:
            tests = [test for test in stage if not self._is_quick or Path(test).parts[1] in KINDS]
            if not tests:
                continue
            run = self._run(tests, until - time.monotonic())
            if run.exit_code != 0:
                break
        return run

    def _passes_without(self, run: TestRun, limit_s: float) -> bool:
        test = run.culprit
        if not test.startswith("tests/"):
            # The tests could not be collected, so there is no single test to repeat.
            return self._run(["--collect-only", *run.tests], limit_s).exit_code == 0
        if test not in self._passes:
            self._passes[test] = self._run([test], limit_s).exit_code == 0
        return self._passes[test]

    def _write(self, file: str, source: bytes) -> None:
        """Write a file with a new time, because Python recognizes compiled modules by time and length, and both could
        be equal."""
        self._mutated += 1
        (self.place / file).write_bytes(source)
        stamp = time.time() + self._mutated
        os.utime(self.place / file, (stamp, stamp))

    def _run(self, tests: Sequence[str], limit_s: float) -> TestRun:
        with tempfile.TemporaryFile("w+") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "pytest", "-x", "-v", "--tb=no", "-p", "no:cacheprovider", *tests],
                cwd=self.place,
                env=self._variables(),
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                hung = _await(process, output, limit_s)
            finally:
                is_too_late = process.returncode is None
                if is_too_late:
                    _end(process)
            if is_too_late:
                return TestRun(tests, None, _text(output), hung)
            return TestRun(tests, process.returncode, _text(output))

    def _variables(self) -> dict[str, str]:
        """The environment variables with which modules come from the copy, and every trial draws the same tests."""
        return {**os.environ, "PYTHONPATH": str(self.place), LEVEL_VARIABLE: "1", SEED_VARIABLE: "mutation"}

    def _require_own_modules(self) -> None:
        """Raise if tests do not import modules from the copy, because then every mutant would survive."""
        code = "import coordinator, protocol, runners; print(coordinator.__file__, protocol.__file__, runners.__file__)"
        answer = subprocess.run(
            [sys.executable, "-c", code], cwd="/", env=self._variables(), capture_output=True, check=True, text=True
        )
        if not all(file.startswith(str(self.place)) for file in answer.stdout.split()):
            raise RuntimeError(f"modules come from {answer.stdout.strip()} instead of {self.place}")


def stages_of(mutant: Mutant, root: Path = PROJECT) -> list[list[str]]:
    """The tests of a mutant: those that import its module, then those of its package, then those of its area.

    Unit tests come before integration tests, and tests with processes last. A stage is one run of pytest, which
    collects all of its tests before it begins the first.
    """
    package = str(Path(mutant.file).parent)
    module = mutant.file.removesuffix(".py").replace("/", ".")
    of_package = {kind: sorted((root / "tests" / kind / package).glob("test_*.py")) for kind in KINDS}
    importing = {
        kind: [file for file in sorted((root / "tests" / kind).rglob("test_*.py")) if _imports(file, module)]
        for kind in KINDS
    }
    of_area = [file for name in AREAS[mutant.area].tests for file in _files(root / "tests" / name)]
    unit_first = sorted(of_area, key=lambda file: file.relative_to(root).parts[1] not in KINDS)
    stages: list[list[str]] = []
    earlier_files: set[Path] = set()
    for files in (*importing.values(), *of_package.values(), unit_first):
        stages.append([str(file.relative_to(root)) for file in dict.fromkeys(files) if file not in earlier_files])
        earlier_files.update(files)
    return [stage for stage in stages if stage]


def _files(place: Path) -> Iterable[Path]:
    return sorted(place.rglob("test_*.py")) if place.is_dir() else [place]


def _imports(file: Path, module: str) -> bool:
    package, _, name = module.rpartition(".")
    text = file.read_text()
    return bool(
        re.search(rf"^(from|import) {re.escape(module)}\b", text, re.MULTILINE)
        or re.search(rf"^from {re.escape(package)} import .*\b{name}\b", text, re.MULTILINE)
    )


def _await(process: subprocess.Popen[bytes], output: IO[str], limit_s: float) -> bool:
    """Wait for the end or the limit. Returns whether the run hung, with no output for ``HANG_S``."""
    began = heard_at = time.monotonic()
    size = 0
    while process.poll() is None:
        now = time.monotonic()
        if (latest := os.fstat(output.fileno()).st_size) != size:
            size, heard_at = latest, now
        if now - heard_at > HANG_S:
            return True
        if now - began > limit_s:
            return False
        time.sleep(0.1)
    return False


def _end(process: subprocess.Popen[bytes]) -> None:
    """Let pytest stop the processes that its tests started, and kill it if this fails."""
    os.killpg(process.pid, signal.SIGINT)
    try:
        process.wait(30)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _text(output: IO[str]) -> str:
    output.seek(0)
    return output.read()
