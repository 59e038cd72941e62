"""Candidates: every mutant of the areas, and a seeded draw that is spread over areas and modules."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from tests.mutation.areas import AREAS
from tests.mutation.operators import Change, changes
from tests.mutation.predicates import PREDICATES, Predicate

PROJECT = Path(__file__).resolve().parents[2]


class CandidateError(Exception):
    """Raised if a list of the mutation tests names something that Portolan no longer has."""


@dataclass(frozen=True)
class Mutant:
    """One change of one file."""

    area: str
    file: str
    """The path relative to the project."""
    text: str
    """The changed line, without its indentation."""
    change: Change
    source: bytes = field(repr=False)

    @property
    def is_program(self) -> bool:
        return self.change.makes_a_program(self.source)

    def __str__(self) -> str:
        return f"{self.file}:{self.change.line} [{self.text}] {self.change.operator}"


def candidates(area: str) -> Iterator[Mutant]:
    """Every mutant of an area's modules. Raises ``CandidateError``."""
    for file in AREAS[area].modules:
        if not (PROJECT / file).is_file():
            raise CandidateError(f"area {area!r} names {file}, which does not exist: correct tests/mutation/areas.py")
        source = (PROJECT / file).read_bytes()
        predicates = [_of_predicate(source, predicate) for predicate in PREDICATES if predicate.file == file]
        lines = source.decode().splitlines()
        for change in (*changes(source, AREAS[area].functions), *predicates):
            yield Mutant(area, file, lines[change.line - 1].strip(), change, source)


def _of_predicate(source: bytes, predicate: Predicate) -> Change:
    begin = source.find(predicate.within.encode())
    start = source.find(predicate.text.encode(), begin)
    if begin < 0 or start < 0:
        missing = f"{predicate.file} has no {predicate.text!r} after {predicate.within!r}"
        raise CandidateError(f"{missing}: correct tests/mutation/predicates.py")
    line = source.count(b"\n", 0, start) + 1
    operator = f"{predicate.text} becomes {predicate.replacement or 'nothing'}"
    return Change(line, start, start + len(predicate.text.encode()), predicate.replacement.encode(), operator)


def draw(mutants: Sequence[Mutant], number: int, seed: int, left_out: Set[Mutant] = frozenset()) -> list[Mutant]:
    """Draw this many mutants: one area after another, and within an area one module after another, regardless of their
    length."""
    chance = random.Random(seed)
    by_area: dict[str, dict[str, list[Mutant]]] = defaultdict(lambda: defaultdict(list))
    for mutant in mutants:
        # Draw the few predicates of SQL separately, or hundreds of other mutants would crowd them out.
        group = "SQL" if " becomes " in mutant.change.operator and _is_predicate(mutant) else mutant.file
        by_area[mutant.area][group].append(mutant)
    turns = [_in_turn(list(groups.values()), chance) for groups in by_area.values()]
    programs = (mutant for mutant in _alternate(turns) if mutant not in left_out and mutant.is_program)
    drawn_mutants = list(islice(programs, number))
    return sorted(drawn_mutants, key=lambda mutant: (mutant.area, mutant.file, mutant.change.start))


def _is_predicate(mutant: Mutant) -> bool:
    return any(
        mutant.file == predicate.file and mutant.change.operator.startswith(f"{predicate.text} becomes ")
        for predicate in PREDICATES
    )


def _in_turn(groups: list[list[Mutant]], chance: random.Random) -> Iterator[Mutant]:
    chance.shuffle(groups)
    for group in groups:
        chance.shuffle(group)
    return _alternate([iter(group) for group in groups])


def _alternate(sources: Sequence[Iterator[Mutant]]) -> Iterator[Mutant]:
    left = list(sources)
    while left:
        for source in list(left):
            mutant = next(source, None)
            if mutant is None:
                left.remove(source)
            else:
                yield mutant
