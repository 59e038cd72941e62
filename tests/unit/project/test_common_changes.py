"""The common changes of CONTRIBUTING.md are carried out in a copy: they work, and change no more files than it says."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
FIXTURES = "tests/unit/coordinator/causes/fixtures"


@dataclass(frozen=True)
class Checkout:
    """A copy of the files of the project."""

    root: Path
    names: frozenset[str]

    def replace(self, name: str, old: str, new: str) -> None:
        """Replace a text that stands once in a file."""
        text = (self.root / name).read_text()
        assert text.count(old) == 1
        (self.root / name).write_text(text.replace(old, new))

    def run(self, *arguments: str) -> str:
        """Run Python in the copy, with the copy's modules; what it prints. Raises if it fails."""
        process = subprocess.run(
            [sys.executable, *arguments],
            cwd=self.root,
            env={**os.environ, "PYTHONPATH": str(self.root), "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert process.returncode == 0, process.stdout + process.stderr
        return process.stdout

    def changes(self) -> set[str]:
        """The files that differ from those of the project, or are new."""
        paths = (path for path in self.root.rglob("*") if path.is_file() and path.suffix != ".pyc")
        names = {str(path.relative_to(self.root)) for path in paths}
        changed_names = {
            name for name in names & self.names if (self.root / name).read_bytes() != (ROOT / name).read_bytes()
        }
        return changed_names | {name for name in names - self.names if not name.startswith(".")}


@pytest.fixture
def checkout(tmp_path: Path) -> Iterator[Checkout]:
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    names = frozenset(name for name in listing.stdout.split("\0") if name and (ROOT / name).is_file())
    for name in names:
        target = tmp_path / "copy" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, target)
    yield Checkout(tmp_path / "copy", names)
    shutil.rmtree(tmp_path / "copy")


def files_of(change: str) -> int:
    """The number of files that CONTRIBUTING.md gives for a common change, without fixtures and generated tables."""
    sentence = re.search(rf"^\*\*{change}\*\*: (\d+) file", (ROOT / "CONTRIBUTING.md").read_text(), re.MULTILINE)
    assert sentence is not None
    return int(sentence[1])


def test_a_counting_rule(checkout: Checkout) -> None:
    row = 'CountingRule("odd", "odd", "only cases of odd runs count", cases="run % 2 = 1")'
    checkout.replace(
        "coordinator/figures/counting.py", "VERDICTS, *CLASS_RULES)\n", f"VERDICTS, *CLASS_RULES, {row})\n"
    )
    checkout.run("-m", "scripts.docs")
    shown = "from coordinator.database.views import VIEWS; print(*(view.query for view in VIEWS))"
    assert "run % 2 = 1" in checkout.run("-c", shown)
    page = "docs/explanation/verdicts.md"
    assert "| `odd` | only cases of odd runs count |" in (checkout.root / page).read_text()
    assert len(checkout.changes() - {page}) == files_of("A counting rule")


def test_a_rule_for_a_cause(checkout: Checkout) -> None:
    rule = '[[rule]]\nid = "tired"\ncause = "environment"\nsays = "The device was tired."\nmessage = "is tired"\n\n'
    checkout.replace("coordinator/causes/rules.toml", '[[rule]]\nid = "lowered"\n', f'{rule}[[rule]]\nid = "lowered"\n')
    tests = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/unit/coordinator/causes/test_causes.py")
    drawn_tests = ("-k", "test_every_rule_has_a_real_failure or test_a_real_failure_gets_its_cause and complex_lt")
    with pytest.raises(AssertionError, match="tired"):
        checkout.run(*tests, "-k", "test_every_rule_has_a_real_failure")
    failure = json.loads((checkout.root / FIXTURES / "cpu_complex_lt.json").read_text())
    failure["outcome"]["evidence"]["message"] = "the device is tired"
    fixture = {**failure, "cause": "environment", "rule": "tired"}
    (checkout.root / FIXTURES / "cpu_complex_lt_tired.json").write_text(json.dumps(fixture))
    assert " passed" in checkout.run(*tests, *drawn_tests)
    changes = checkout.changes()
    assert f"{FIXTURES}/cpu_complex_lt_tired.json" in changes
    assert len(changes) - 1 == files_of("A rule for a cause")
