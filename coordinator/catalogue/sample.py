"""The sample: functions drawn by how often they are used, as the study drew its own. Pure."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from coordinator.errors import CatalogueError

DECILES = 10


@dataclass(frozen=True)
class Drawn:
    """A function of a sample, and what it was drawn from."""

    function: str
    uses: int
    stratum: str
    """``top20`` for 20 at the top; else ``decile10`` (rarest) to ``decile100`` (most used), the study's words."""
    instead_of: str | None = None
    """The function that was drawn first and cannot be charted."""
    because: str | None = None


@dataclass(frozen=True)
class Sample:
    seed: int
    population: int
    """How many functions it was drawn from."""
    drawn: tuple[Drawn, ...]
    short: tuple[str, ...] = ()
    """Strata with fewer functions than were to be drawn."""


def deciles(ranked: Sequence[tuple[str, int]]) -> list[Sequence[tuple[str, int]]]:
    """Part functions, the rarest first, into ten whose sizes differ by one at most."""
    bounds = [len(ranked) * number // DECILES for number in range(DECILES + 1)]
    return [ranked[start:end] for start, end in pairwise(bounds)]


def draw(
    uses: Mapping[str, int], *, top: int, per_decile: int, seed: int, replaced: Mapping[str, str] | None = None
) -> Sample:
    """Draw the most used functions, and some of each decile at random.

    A function in ``replaced`` is left out for the reason given there, and the next of its decile is drawn instead; no
    other changes by that. The most used functions are not replaced, as there is no other like them: they are left
    out. What is among them is not drawn a second time from its decile.
    """
    refused = dict(replaced or {})
    if unknown := sorted(set(refused) - set(uses)):
        raise CatalogueError(f"{unknown[0]} is not in the population, so it cannot be replaced: check the name")
    ranked = sorted(uses.items(), key=lambda row: (row[1], row[0]))
    # The alphabet decides between equals, in the direction of the ranking.
    most = sorted(ranked, key=lambda row: (-row[1], row[0]))[:top]
    drawn = [Drawn(name, count, f"top{top}") for name, count in most if name not in refused]
    at_the_top = {name for name, _ in most}
    short = []
    for number, decile in enumerate(deciles(ranked), 1):
        stratum = f"decile{number * DECILES}"
        order = [row for row in decile if row[0] not in at_the_top]
        # Each decile has a generator of its own, so that none depends on what another has drawn.
        random.Random(f"{seed} {stratum}").shuffle(order)
        found = _of_stratum(order, per_decile, stratum, refused)
        drawn += found
        if len(found) < per_decile:
            short.append(stratum)
    return Sample(seed, len(ranked), tuple(drawn), tuple(short))


def _of_stratum(order: Sequence[tuple[str, int]], wanted: int, stratum: str, refused: Mapping[str, str]) -> list[Drawn]:
    """Take the first ones of an order; for each that is refused, the first one behind them."""
    reserve = iter(row for row in order[wanted:] if row[0] not in refused)
    found = []
    for name, count in order[:wanted]:
        if name not in refused:
            found.append(Drawn(name, count, stratum))
        elif (other := next(reserve, None)) is not None:
            found.append(Drawn(*other, stratum, instead_of=name, because=refused[name]))
    return found
