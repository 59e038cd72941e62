"""Measures how often Portolan's proofs judge two kinds of calls correctly: calls with a fallback that a test causes on
purpose (a *plant*), and similar calls without a fallback (*honest calls*).

Each plant is a test in ``test_plants.py`` or ``test_host_work.py`` of ``tests/frameworks/FRAMEWORK``. A test passes if
the planted fallback is detected, or if the honest call is judged to run on the device. The tests run in a separate
process, because they load every device anew.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from xml.etree import ElementTree

from bench.figure import MeasuredFigure
from bench.place import PROJECT, CannotRunError, say

TARGET = 0.97
FILES = ("test_plants.py", "test_host_work.py")
SEEN, HONEST = "_is_seen", "_is_not_accused"
"""The endings of names of tests that plant a fallback, and of tests that make an honest call."""


def shares(framework: str) -> Iterator[MeasuredFigure]:
    """Measure two shares: of planted fallbacks, those that are detected; and of honest calls, those that are judged to
    run on the device."""
    say("truth", f"the plants and the honest calls of {framework}")
    verdicts = _verdicts(PROJECT / "tests" / "frameworks" / framework)
    yield _share(f"plants_{framework}", "plants", verdicts, SEEN)
    yield _share(f"honest_{framework}", "honest calls", verdicts, HONEST)


def _share(name: str, what: str, verdicts: Mapping[str, bool], ending: str) -> MeasuredFigure:
    mine = {test: has_passed for test, has_passed in verdicts.items() if is_one_of(test, ending)}
    if not mine:
        raise CannotRunError(
            f"no test in {' or '.join(FILES)} has a name that ends in {ending}: give the tests of {what} this ending"
        )
    wrong = sorted(test for test, passed in mine.items() if not passed)
    share = 1 - len(wrong) / len(mine)
    return MeasuredFigure(
        name,
        share,
        f"share of {what}",
        f"at least {TARGET:.0%} of the {what} get their verdict",
        met=share >= TARGET,
        n=len(mine),
        detail={"wrong": wrong},
    )


def _verdicts(folder: Path) -> dict[str, bool]:
    with tempfile.TemporaryDirectory() as place:
        report = Path(place) / "plants.xml"
        command = [sys.executable, "-m", "pytest", "-q", "-c", str(folder / "pytest.ini"), f"--junitxml={report}"]
        process = subprocess.run(
            [*command, *(str(folder / file) for file in FILES)],
            cwd=PROJECT,
            capture_output=True,
            text=True,
            check=False,
        )
        verdicts = verdicts_of(report.read_text()) if report.exists() else {}
    if not verdicts:
        raise CannotRunError(
            f"the plants of {folder.name} did not run; run `{' '.join(command)}` to see why: "
            f"{process.stdout[-300:]} {process.stderr[-300:]}"
        )
    return verdicts


def is_one_of(test: str, ending: str) -> bool:
    return test.partition("[")[0].endswith(ending)


def verdicts_of(report: str) -> dict[str, bool]:
    """Whether each test of a pytest report passed, by name. A skipped test counts as failed."""
    tests = ElementTree.fromstring(report).iter("testcase")
    return {test.get("name", ""): not any(True for _ in test) for test in tests}
