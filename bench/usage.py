"""``usage`` measures how many files a count of use reads per CPU second, compared with a plain parse of the same files.

The files are Python files of the installed packages. Each file is changed to import a framework, because files without
a framework are not parsed. CPU seconds of all processes are added, so those of worker processes are included.
"""

from __future__ import annotations

import ast
import os
import sysconfig
import warnings
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

from bench.figure import MeasuredFigure, middle, spread
from bench.place import CannotRunError, folder, say
from coordinator.catalogue.surfaces import array_methods
from coordinator.catalogue.usage.counting import count_corpus
from coordinator.catalogue.usage.sources import sources
from coordinator.catalogue.usage.state import CountState

FILES = 1_500
ROUNDS = 3
IMPORT = b"import torch\nimport torch.nn.functional as F\n"


def run() -> Iterator[MeasuredFigure]:
    with folder() as place:
        corpus = place / "corpus"
        files = _write(corpus)
        plain, counted_s = [], []
        for number in range(ROUNDS):
            plain.append(files / _core_seconds(lambda: _walk(corpus)))
            counted_s.append(files / _core_seconds(lambda: _count(corpus)))
            say("usage", f"round {number + 1}: {counted_s[-1]:.0f} files per CPU second, plain {plain[-1]:.0f}")
    ratios = [ours / theirs for ours, theirs in zip(counted_s, plain, strict=True)]
    yield MeasuredFigure(
        "files_counted",
        middle(counted_s),
        "files per CPU second",
        target="as many as a plain walk",
        met=middle(ratios) >= 1,
        baseline="ast.parse and ast.walk of the same files in one process",
        baseline_value=middle(plain),
        ratio=middle(ratios),
        n=ROUNDS,
        spread=spread(ratios),
        detail={"files": files},
    )


def _write(corpus: Path) -> int:
    """Copy installed files into a corpus, in which all files differ."""
    corpus.mkdir()
    packages = Path(sysconfig.get_path("purelib"))
    readable_sources = (source for source in sources(packages) if source.refusal is None and _parses(source.content))
    number = 0
    for number, source in enumerate(islice(readable_sources, FILES), 1):
        # The import is added at the end, so that a `from __future__` stays the first statement.
        content = source.content + b"\n" + IMPORT + f"# {number}\n".encode()
        (corpus / f"{number:05}.py").write_bytes(content)
    if number < FILES // 2:
        raise CannotRunError(f"{packages} has only {number} Python files, not {FILES}: install more packages")
    return number


def _parses(content: bytes) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ast.parse(content)
        except (SyntaxError, ValueError):
            return False
    return True


def _core_seconds(work: Callable[[], None]) -> float:
    before = _cpu_s()
    work()
    return _cpu_s() - before


def _cpu_s() -> float:
    """The CPU seconds of this process and of its children that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def _walk(corpus: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for path in sorted(corpus.iterdir()):
            for _ in ast.walk(ast.parse(path.read_bytes())):
                pass


def _count(corpus: Path) -> None:
    with CountState(None, corpus) as state:
        count_corpus(corpus, array_methods(), state)
