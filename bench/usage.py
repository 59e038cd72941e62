"""``usage``: files a second that a count of use reads on one core, beside a plain parse and walk of the same files.

The files are Python files of the installed packages: real code, whatever is installed. Every second one is made to
import a framework, as most installed files name none and would not be parsed at all.
"""

from __future__ import annotations

import ast
import sysconfig
import time
import warnings
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from bench.figure import Figure, middle, spread
from bench.place import CannotRunError, folder, say
from coordinator.catalogue.surfaces import array_methods
from coordinator.catalogue.usage.counting import count_corpus
from coordinator.catalogue.usage.sources import sources
from coordinator.catalogue.usage.state import CountState

FILES = 1_500
ROUNDS = 3
IMPORT = b"import torch\nimport torch.nn.functional as F\n"


def run() -> Iterator[Figure]:
    with folder() as place:
        corpus = place / "corpus"
        files = _write(corpus)
        plain, counted = [], []
        for number in range(ROUNDS):
            plain.append(files / _seconds_of_walk(corpus))
            counted.append(files / _seconds_of_count(corpus))
            say("usage", f"round {number + 1}: {counted[-1]:.0f} files a second, plain {plain[-1]:.0f}")
    ratios = [ours / theirs for ours, theirs in zip(counted, plain, strict=True)]
    yield Figure(
        "files_counted",
        middle(counted),
        "files/s",
        target="as many as a plain walk, on one core",
        met=middle(ratios) >= 1,
        baseline="ast.parse and ast.walk of the same files in one process",
        baseline_value=middle(plain),
        ratio=middle(ratios),
        n=ROUNDS,
        spread=spread(ratios),
        detail={"files": files},
    )


def _write(corpus: Path) -> int:
    """Copy installed files into a corpus, no two of them equal."""
    corpus.mkdir()
    installed = Path(sysconfig.get_path("purelib"))
    found = (source for source in sources(installed) if source.refusal is None and _parses(source.content))
    number = 0
    for number, source in enumerate(islice(found, FILES), 1):
        # At the end, so that a `from __future__` stays the first statement.
        content = source.content + b"\n" + (IMPORT if number % 2 else b"") + f"# {number}\n".encode()
        (corpus / f"{number:05}.py").write_bytes(content)
    if number < FILES // 2:
        raise CannotRunError(f"{installed} has {number} Python files, and {FILES} are wanted")
    return number


def _parses(content: bytes) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ast.parse(content)
        except (SyntaxError, ValueError):
            return False
    return True


def _seconds_of_walk(corpus: Path) -> float:
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for path in sorted(corpus.iterdir()):
            for _ in ast.walk(ast.parse(path.read_bytes())):
                pass
    return time.perf_counter() - start


def _seconds_of_count(corpus: Path) -> float:
    methods = array_methods()
    start = time.perf_counter()
    with CountState(None, corpus) as state:
        count_corpus(corpus, methods, state, processes=1)
    return time.perf_counter() - start
