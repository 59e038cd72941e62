"""Samples: calls with inputs that are not judged yet, and the order in which the gate takes them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

MOST_ELEMENTS = 1_500
"""The maximum number of elements of all arrays of a sample together. Larger arrays test nothing more and enlarge the
file."""
NO_ARRAY = "no-array"
"""The kind of a sample without arrays: it calls a factory, which gets the device as an argument."""


@dataclass(frozen=True)
class Sample:
    """One call as JSON, with the digests of its arrays."""

    name: str
    dtype: str
    call: str
    arrays: tuple[str, ...]
    kinds: tuple[str, ...]
    elements: int


@dataclass
class Drawn:
    """The samples of one function in one dtype, and the reasons why others were left out."""

    samples: list[Sample] = field(default_factory=list)
    left_out: list[tuple[str, str]] = field(default_factory=list)
    """Pairs of a sample's name and the reason."""

    def add(self, sample: Sample) -> None:
        """Add a sample, unless one with the same call and arrays is there already."""
        if not any((sample.call, sample.arrays) == (other.call, other.arrays) for other in self.samples):
            self.samples.append(sample)


def chosen_first(samples: Sequence[Sample]) -> list[Sample]:
    """Sort the samples so that the first few cover every kind of input, small samples first. Shuffle the others."""
    left = sorted(samples, key=lambda sample: sample.elements)
    kinds: set[str] = set()
    first: list[Sample] = []
    while left:
        best = max(left, key=lambda sample: (len(set(sample.kinds) - kinds), -left.index(sample)))
        if not set(best.kinds) - kinds:
            # All kinds are covered. Shuffle the rest, so that no option is always last.
            random.Random(0).shuffle(left)
            return first + left
        left.remove(best)
        first.append(best)
        kinds |= set(best.kinds)
    return first
