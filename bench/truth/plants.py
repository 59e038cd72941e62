"""Planted fallbacks: which of them a framework's proofs see.

The plants are tests, one each, in ``tests/FRAMEWORK/test_plants.py``: one of them that passes is
a plant that was seen. They run in a process of their own, as they load every device anew.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from xml.etree import ElementTree

from bench.figure import Figure
from bench.place import PROJECT, CannotRunError, say

TARGET = 0.95
SEEN = "_is_seen"
"""The end of the names of tests that plant a fallback. The others ask that honest calls are not accused."""


def seen(framework: str) -> Figure:
    """The share of a framework's plants that are seen."""
    folder = PROJECT / "tests" / "frameworks" / framework
    target = f"at least {TARGET:.0%} of the fallbacks planted for {framework}"
    say("truth", f"the plants of {framework}")
    verdicts = {name: passed for name, passed in _verdicts(folder).items() if is_plant(name)}
    if not verdicts:
        raise CannotRunError(f"no test in tests/frameworks/{framework}/test_plants.py has a name that ends in {SEEN}")
    unseen = sorted(name for name, passed in verdicts.items() if not passed)
    share = 1 - len(unseen) / len(verdicts)
    return Figure(
        f"plants_{framework}",
        share,
        "share of plants",
        target,
        met=share >= TARGET,
        n=len(verdicts),
        detail={"unseen": unseen},
    )


def _verdicts(folder: Path) -> dict[str, bool]:
    with tempfile.TemporaryDirectory() as place:
        report = Path(place) / "plants.xml"
        command = [sys.executable, "-m", "pytest", "-q", "-c", str(folder / "pytest.ini"), f"--junitxml={report}"]
        done = subprocess.run(
            [*command, str(folder / "test_plants.py")], cwd=PROJECT, capture_output=True, text=True, check=False
        )
        verdicts = verdicts_of(report.read_text()) if report.exists() else {}
    if not verdicts:
        raise CannotRunError(f"the plants of {folder.name} did not run: {done.stdout[-300:]} {done.stderr[-300:]}")
    return verdicts


def is_plant(test: str) -> bool:
    return test.partition("[")[0].endswith(SEEN)


def verdicts_of(report: str) -> dict[str, bool]:
    """Of a report of pytest's: each test by name, and whether it passed. A skipped one counts as not seen."""
    tests = ElementTree.fromstring(report).iter("testcase")
    return {test.get("name", ""): not any(True for _ in test) for test in tests}
