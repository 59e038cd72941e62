"""Samples: calls that are written down and not judged yet, and the order in which the gate takes them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

MOST_ELEMENTS = 1_500
"""Of all arrays of a sample together. Longer ones test no more of a function, and weigh the file."""
NO_ARRAY = "no-array"
"""The kind of a sample without arrays: a factory, which is given the forced device."""


@dataclass(frozen=True)
class Sample:
    """One call: written, with the digests of its arrays."""

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
    """The name of a sample, and the reason."""

    def add(self, sample: Sample) -> None:
        """Take a sample, unless the same call is there already."""
        if not any((sample.call, sample.arrays) == (other.call, other.arrays) for other in self.samples):
            self.samples.append(sample)


def chosen_first(samples: Sequence[Sample]) -> list[Sample]:
    """All samples, in an order in which the first few meet every kind of input: new kinds first, then small ones."""
    left = sorted(samples, key=lambda sample: sample.elements)
    kinds: set[str] = set()
    first: list[Sample] = []
    while left:
        best = max(left, key=lambda sample: (len(set(sample.kinds) - kinds), -left.index(sample)))
        if not set(best.kinds) - kinds:
            # Every kind is met: the others at even distances, so that all options have their turn.
            random.Random(0).shuffle(left)
            return first + left
        left.remove(best)
        first.append(best)
        kinds |= set(best.kinds)
    return first
