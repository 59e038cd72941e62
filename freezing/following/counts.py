"""The counted pairs, as a tool that draws reads them: it needs no more than the standard library."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from pathlib import Path

FILE = Path(__file__).with_name("followers.json.gz")
"""The packages that were counted, with their versions and files, and the pairs of each framework."""
MOST_KEPT = 6_000
"""Of each framework: those that follow each other most."""


def pairs_of(framework: str) -> Sequence[tuple[str, str, int]]:
    """A function, the one that takes its result, and how often it does: the most frequent first."""
    counts = json.loads(gzip.decompress(FILE.read_bytes()))
    return [(first, second, times) for first, second, times in counts["pairs"][framework]]
