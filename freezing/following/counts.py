"""Read the counted pairs. This module needs only the standard library, so frameworks' environments can import it."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from pathlib import Path

FILE = Path(__file__).with_name("followers.json.gz")
"""The counted packages with their versions and numbers of files, and the pairs of each framework."""
MOST_KEPT = 6_000
"""The number of pairs that are stored for each framework: the most frequent ones."""


def pairs_of(framework: str) -> Sequence[tuple[str, str, int]]:
    """Return tuples of a function, a function that takes its result, and their count, the most frequent first."""
    counts = json.loads(gzip.decompress(FILE.read_bytes()))
    return [(first, second, times) for first, second, times in counts["pairs"][framework]]
