"""Planted fallbacks, and calls without one that look alike: the share that a framework's proofs judge rightly.

They are tests, one each, in ``test_plants.py`` and ``test_host_work.py`` of ``tests/frameworks/FRAMEWORK``: one that
passes is a plant that was seen, or an honest call that was accused of nothing. They run in a process of their own, as
they load every device anew.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from xml.etree import ElementTree

from bench.figure import Figure
from bench.place import PROJECT, CannotRunError, say

TARGET = 0.97
FILES = ("test_plants.py", "test_host_work.py")
SEEN, HONEST = "_is_seen", "_is_not_accused"
"""The ends of the names of tests that plant a fallback, and of those that make an honest call."""


def shares(framework: str) -> Iterator[Figure]:
    """The share of a framework's plants that are seen, and of its honest calls that are on the device."""
    say("truth", f"the plants and the honest calls of {framework}")
    verdicts = _verdicts(PROJECT / "tests" / "frameworks" / framework)
    yield _share(f"plants_{framework}", "plants", verdicts, SEEN)
    yield _share(f"honest_{framework}", "honest calls", verdicts, HONEST)


def _share(name: str, what: str, verdicts: Mapping[str, bool], ending: str) -> Figure:
    mine = {test: has_passed for test, has_passed in verdicts.items() if is_one_of(test, ending)}
    if not mine:
        raise CannotRunError(f"no test in {' or '.join(FILES)} has a name that ends in {ending}")
    wrong = sorted(test for test, passed in mine.items() if not passed)
    share = 1 - len(wrong) / len(mine)
    return Figure(
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
            f"the plants of {folder.name} did not run: {process.stdout[-300:]} {process.stderr[-300:]}"
        )
    return verdicts


def is_one_of(test: str, ending: str) -> bool:
    return test.partition("[")[0].endswith(ending)


def verdicts_of(report: str) -> dict[str, bool]:
    """Each test of a pytest report by name, and whether it passed. A skipped one counts as not seen."""
    tests = ElementTree.fromstring(report).iter("testcase")
    return {test.get("name", ""): not any(True for _ in test) for test in tests}
