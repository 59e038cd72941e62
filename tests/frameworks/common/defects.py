"""The defects on ``docs/explanation/defects.md``: each script of the page, and its expected output."""

from __future__ import annotations

import contextlib
import io
import re
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).resolve().parents[3] / "docs" / "explanation" / "defects.md"
_SECTION = re.compile(r"^## (.+?)$(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_NEEDS = re.compile(r"Needs a processor with\s`(\w+)`")
_DEFECT = re.compile(r"^### (.+?)$(.*?)```python\n(.*?)```\n\n```text\n(.*?)\n```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Defect:
    title: str
    script: str
    prints: str
    """The output of the script, or the signal that ends it."""
    needs: str | None
    """The feature of the processor without which the defect does not appear, as Linux names it (``avx512f``)."""

    @property
    def signal(self) -> signal.Signals | None:
        before, _, name = self.prints.rpartition("died of ")
        return signal.Signals[name] if not before and name.startswith("SIG") else None


def defects(section: str) -> list[Defect]:
    """The defects in one section of the page, in its order."""
    (body,) = [body for title, body in _SECTION.findall(PAGE.read_text()) if title == section]
    page_defects = [_defect(*groups) for groups in _DEFECT.findall(body)]
    assert len(page_defects) == body.count("### "), "a defect of the page lacks its script, or what that prints"
    return page_defects


def _defect(title: str, text: str, script: str, prints: str) -> Defect:
    needs = _NEEDS.search(text)
    return Defect(title, script, prints, needs[1] if needs else None)


def each_of(section: str) -> Any:
    """A decorator for a test that runs once per defect."""
    return pytest.mark.parametrize("defect", defects(section), ids=lambda defect: defect.title.replace("`", ""))


def assert_there(defect: Defect) -> None:
    """Check that the script gives the page's result. If not, the framework has corrected the defect, which must be
    removed from the page."""
    if defect.needs and defect.needs not in _processor_features():
        pytest.skip(f"this processor has no {defect.needs}, which the defect needs")
    if defect.signal is not None:
        assert -in_own_process(defect).returncode == defect.signal
        return
    if "os.environ" in defect.script:
        # It sets a variable before it imports the framework, which this process has done already.
        assert in_own_process(defect).stdout.rstrip("\n") == defect.prints
        return
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(compile(defect.script, defect.title, "exec"), {"__name__": "defect"})
    assert output.getvalue().rstrip("\n") == defect.prints


def _processor_features() -> frozenset[str]:
    return frozenset(re.findall(r"\w+", Path("/proc/cpuinfo").read_text()))


def in_own_process(defect: Defect) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "ignore", "-c", defect.script]
    return subprocess.run(command, capture_output=True, text=True, check=False)
