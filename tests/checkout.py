"""A copy of the project in which a test makes a common change of CONTRIBUTING.md and counts the changed files."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Checkout:
    """A copy of the files of the project."""

    root: Path
    names: frozenset[str]

    def replace(self, name: str, old: str, new: str) -> None:
        """Replace a text that occurs exactly once in a file."""
        text = (self.root / name).read_text()
        assert text.count(old) == 1
        (self.root / name).write_text(text.replace(old, new))

    def run(self, *arguments: str, **variables: str) -> str:
        """Run Python in the copy, with the copy's modules. Returns the output; raises if Python fails."""
        process = subprocess.run(
            [sys.executable, *arguments],
            cwd=self.root,
            env={**os.environ, "PYTHONPATH": str(self.root), "PYTHONDONTWRITEBYTECODE": "1", **variables},
            capture_output=True,
            text=True,
            check=False,
        )
        assert process.returncode == 0, process.stdout + process.stderr
        return process.stdout

    def changes(self) -> set[str]:
        """The files that are new, or that differ from those of the project."""
        paths = (path for path in self.root.rglob("*") if path.is_file() and path.suffix != ".pyc")
        names = {str(path.relative_to(self.root)) for path in paths}
        changed_names = {
            name for name in names & self.names if (self.root / name).read_bytes() != (ROOT / name).read_bytes()
        }
        return changed_names | {name for name in names - self.names if not name.startswith(".")}


@contextmanager
def copy_project(folder: Path) -> Iterator[Checkout]:
    """Copy the files that git tracks or would add to this folder. The copy is removed at the end."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    names = frozenset(name for name in listing.stdout.split("\0") if name and (ROOT / name).is_file())
    for name in names:
        target = folder / "copy" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, target)
    yield Checkout(folder / "copy", names)
    shutil.rmtree(folder / "copy")


def files_of(change: str, words: str = " file") -> int:
    """The number of files that CONTRIBUTING.md states for a common change, without fixtures and generated tables.
    ``words`` follow the number; a change of two kinds has a number for each."""
    pattern = rf"^\*\*{change}\*\*: (?:.*, )?(\d+){words}"
    sentence = re.search(pattern, (ROOT / "CONTRIBUTING.md").read_text(), re.MULTILINE)
    assert sentence is not None
    return int(sentence[1])
