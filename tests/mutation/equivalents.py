"""Equivalent mutants: changes that no test can notice, each with its reason. One without a candidate is refused."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from tests.mutation.areas import AREAS
from tests.mutation.candidates import CandidateError, Mutant


class Equivalent(NamedTuple):
    """The file, the line without its indentation, and the operator as the report has it."""

    file: str
    text: str
    operator: str
    reason: str


EQUIVALENTS: tuple[Equivalent, ...] = ()


def undeclared(mutants: Sequence[Mutant], areas: Collection[str] | None = None) -> list[Mutant]:
    """The mutants that are not declared equivalent. Raises ``CandidateError`` for an entry that fits none of them."""
    names = {(mutant.file, mutant.text, mutant.change.operator) for mutant in mutants}
    files = {file for area in areas or AREAS for file in AREAS[area].modules}
    for entry in EQUIVALENTS:
        if entry.file in files and entry[:3] not in names:
            raise CandidateError(f"{entry.file} has no [{entry.text}] with {entry.operator!r}: take the entry out")
    declared = {entry[:3] for entry in EQUIVALENTS}
    return [mutant for mutant in mutants if (mutant.file, mutant.text, mutant.change.operator) not in declared]
