"""Draw the suite ``pairs`` of a framework into a folder, and merge the folder into the suite's two files.

    python -m freezing.FRAMEWORK.pairs FOLDER [--merge]

Each pair has a file in FOLDER. A pair whose file exists is not drawn again, so you can continue an interrupted freeze.
With ``--merge``, no pair is drawn, and the files in FOLDER become the suite.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from freezing.common.gate import GatedFunction
from freezing.common.pairs import PairSubject, PlainCases, draw_pair, most_followed
from freezing.common.parts import merge
from freezing.common.restart import begin
from runners.suite.framework import Framework
from runners.suite.frozen import PACK, Pack

RUNNERS = Path(__file__).resolve().parents[2] / "runners"

DrawPart = Callable[[str, Path], None]
"""Draws the pair with this title into this file."""


def is_any(name: str) -> bool:
    return True


@dataclass(frozen=True)
class PairSuite:
    """The parts of freezing ``pairs`` that depend on the framework."""

    framework: Framework
    begin: Callable[[], str]
    """Imports the framework, limits it to one thread if necessary, and returns its version."""
    function: Callable[[str], GatedFunction]
    """Makes the ``GatedFunction`` of a public name."""
    call: Callable[[str, GatedFunction, Sequence[Any]], Any]
    """Calls a pair, written as JSON, as one program. Takes the pair, its second function, and the arrays."""
    draw_all: Callable[[Path, Sequence[str], DrawPart], None]
    """Draws every title that has no file in the folder yet, in one or several processes."""
    is_taken: Callable[[str], bool] = is_any
    """Whether a public function with frozen cases may be in a pair."""
    kind: type[PairSubject] = PairSubject
    """The class of the framework's pairs."""

    @property
    def suites(self) -> Path:
        return RUNNERS / self.framework.name / "suites"

    def cases(self) -> PlainCases:
        cases = PlainCases(Pack(self.suites / "library" / PACK))
        # Read the arrays before this process forks, so that no child has to read them.
        cases.pack.arrays  # noqa: B018
        return cases

    def pair(self, title: str) -> PairSubject:
        """Return the pair with this title, for example ``torch.exp torch.log``."""
        first, second = map(self.function, title.split())

        def program(written: str, arrays: Sequence[Any]) -> Any:
            return self.call(written, second, arrays)

        return self.kind(first, second, program)

    def draw_one(self, title: str, cases: PlainCases, path: Path) -> None:
        """Draw the pair with this title into a file."""
        draw_pair(self.pair(title), cases, path)

    def draw(self, folder: Path) -> None:
        cases = self.cases()
        titles = [" ".join(pair) for pair in most_followed(self.framework.name, cases, self.is_taken)]
        self.draw_all(folder, titles, lambda title, path: self.draw_one(title, cases, path))


def main(suite: PairSuite, arguments: Sequence[str]) -> int:
    module = f"freezing.{suite.framework.name}.pairs"
    parser = argparse.ArgumentParser(f"python -m {module}")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--merge", action="store_true")
    options = parser.parse_args(arguments)
    begin(suite.framework, module, arguments)
    version = suite.begin()
    if options.merge:
        merge(options.folder, suite.suites / "pairs", suite.framework.name, version, has_quick_form=False)
    else:
        suite.draw(options.folder)
    return 0
