"""Draws a sample of functions by how often they are used, as the study did, and determines for which of them a suite
has cases. This module does no I/O."""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from coordinator.catalogue.models import ChartedSample, DrawnFunction, FunctionSample, SampledFunction
from coordinator.catalogue.releases import Release
from coordinator.errors import CatalogueError
from coordinator.figures.formats import join_words, plural

DECILES = 10
NAMED = 5
"""The maximum number of functions without a case that the sentence about a sample names."""


@dataclass(frozen=True)
class Selection:
    """The result of a draw: the drawn functions, and the groups that were too small."""

    population: int
    """The number of functions from which the sample was drawn."""
    drawn: tuple[DrawnFunction, ...]
    short: tuple[str, ...] = ()
    """The groups with fewer functions than should be drawn from each group."""


def population(release: Release, *, members: bool, with_guesses: bool) -> dict[str, int]:
    """The functions of a release that can be drawn, with their numbers of uses: those that are used at least once and
    can run on a device."""
    names = release.kinds.keys() if members else release.functions
    tables = (release.certain, release.guessed) if with_guesses else (release.certain,)
    weights = {name: sum(sum(table.get(name, {}).values()) for table in tables) for name in names}
    return {name: uses for name, uses in weights.items() if uses}


def deciles(ranking: Sequence[tuple[str, int]]) -> list[Sequence[tuple[str, int]]]:
    """Divide functions, the rarest first, into ten groups whose sizes differ by at most one."""
    bounds = [len(ranking) * number // DECILES for number in range(DECILES + 1)]
    return [ranking[start:end] for start, end in pairwise(bounds)]


def draw(
    uses: Mapping[str, int], *, top: int, per_decile: int, seed: int, replacements: Mapping[str, str] | None = None
) -> Selection:
    """Draw the most used functions, and some of each decile at random.

    ``replacements`` has functions that cannot be charted, with the reason. If the draw selects one of these functions,
    the next function of the decile is drawn in its place, and all other draws stay the same. A replaced function that
    is one of the most used functions is left out, because no other function is like it.
    """
    reasons = dict(replacements or {})
    if unknown := sorted(set(reasons) - set(uses)):
        raise CatalogueError(f"{unknown[0]} is not in the population, so it cannot be replaced: check the name")
    ranking = sorted(uses.items(), key=lambda row: (row[1], row[0]))
    # Functions with equal numbers of uses are ordered by name.
    most = sorted(ranking, key=lambda row: (-row[1], row[0]))[:top]
    selection = [
        DrawnFunction(function=name, uses=count, stratum=f"top{top}") for name, count in most if name not in reasons
    ]
    at_the_top = {name for name, _ in most}
    short = []
    for number, decile in enumerate(deciles(ranking), 1):
        stratum = f"decile{number * DECILES}"
        order = [row for row in decile if row[0] not in at_the_top]
        # Each decile has its own generator, so that its draw does not depend on the other deciles.
        random.Random(f"{seed} {stratum}").shuffle(order)
        stratum_draw = _of_stratum(order, per_decile, stratum, reasons)
        selection += stratum_draw
        if len(stratum_draw) < per_decile:
            short.append(stratum)
    return Selection(len(ranking), tuple(selection), tuple(short))


def _of_stratum(
    order: Sequence[tuple[str, int]], size: int, stratum: str, reasons: Mapping[str, str]
) -> list[DrawnFunction]:
    """Take the first functions of a shuffled group. Each function that cannot be charted is replaced by the next
    one."""
    reserve = iter(row for row in order[size:] if row[0] not in reasons)
    functions = []
    for name, count in order[:size]:
        if name not in reasons:
            functions.append(DrawnFunction(function=name, uses=count, stratum=stratum))
        elif (other := next(reserve, None)) is not None:
            function, uses = other
            functions.append(
                DrawnFunction(function=function, uses=uses, stratum=stratum, instead_of=name, because=reasons[name])
            )
    return functions


def with_aliases(functions: Sequence[DrawnFunction], release: Release) -> tuple[DrawnFunction, ...]:
    """Add to each function all its other names, because a suite may have the function under any of its names."""
    entries = release.surface.by_name
    return tuple(row.model_copy(update={"aliases": tuple(entries[row.function].aliases)}) for row in functions)


def chart_sample(sample: FunctionSample, available: Collection[str]) -> ChartedSample:
    """Add to each function of a sample the name under which a suite has cases for the function; None if the suite has
    no cases for it."""
    there = frozenset(available)
    return ChartedSample(
        **{
            **dict(sample),
            "drawn": [SampledFunction(**dict(row), charted_as=_name_in(there, row)) for row in sample.drawn],
        }
    )


def _name_in(available: frozenset[str], row: DrawnFunction) -> str | None:
    return next((name for name in (row.function, *sorted(row.aliases)) if name in available), None)


def sample_sentence(sample: ChartedSample, suite: str) -> str:
    """The sample as a sentence, which names the functions that are not charted. The summary, the pages and the report
    all show this sentence."""
    text = (
        f"Its functions are the sample {sample.name}: {len(sample.drawn):,} of {plural(sample.population, 'function')} "
        f"of {sample.surface} in use in {sample.corpus}, {how_drawn(sample)}."
    )
    left = sample.not_charted
    if not left:
        return f"{text} The suite {suite} has cases of all of them."
    more = [f"{len(left) - NAMED:,} more"] if len(left) > NAMED else []
    return (
        f"{text} The suite {suite} has cases of {len(sample.drawn) - len(left):,}; {len(left):,} are not charted: "
        f"{join_words([*left[:NAMED], *more])}."
    )


def how_drawn(sample: FunctionSample) -> str:
    """How the sample was drawn: ``the 20 most used and 5 of each decile at random (seed 1)``."""
    parts = [
        *([f"the {sample.top} most used"] if sample.top else []),
        *([f"{sample.per_decile} of each decile at random"] if sample.per_decile else []),
    ]
    return f"{join_words(parts) or 'none'} (seed {sample.seed})"
