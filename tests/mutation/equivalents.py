"""Equivalent mutants: changes that no test can detect, each with its reason. An entry without a matching mutant is an
error."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from tests.mutation.areas import AREAS
from tests.mutation.candidates import CandidateError, Mutant


class Equivalent(NamedTuple):
    """The file, the line without its indentation, and the operator's name in the report."""

    file: str
    text: str
    operator: str
    reason: str


EQUIVALENTS: tuple[Equivalent, ...] = (
    Equivalent(
        "coordinator/access/listeners.py",
        'reason = await self._listeners.refusal(scope["method"], scope["path"], address, port or 0)',
        "0 becomes 1",
        "any number that is not the port of a listener means that the request came through no listener",
    ),
    Equivalent(
        "coordinator/configuration/backoff.py",
        "return min(self.first_s * 2.0 ** min(max(failures - 1, 0), 64), self.longest_s)",
        "64 becomes 128",
        "both are beyond every limit and below 2^1024, as the comment says",
    ),
    Equivalent(
        "coordinator/results/statistics.py",
        "at_once = max(1, BLOCK // RESAMPLES)",
        "max becomes min",
        "the number of sets that are computed at a time changes only the time and the memory, not the figures",
    ),
    Equivalent(
        "coordinator/causes/patterns.py",
        "MEMORY_BYTES = 16 << 20",
        "16 becomes 17",
        "the memory at which a new set of patterns begins does not change the matches",
    ),
    Equivalent(
        "coordinator/causes/patterns.py",
        "MEMORY_BYTES = 16 << 20",
        "20 becomes 40",
        "the memory limit does not change the matches, and RE2 uses no more memory than it needs",
    ),
)


def read_equivalents(mutants: Sequence[Mutant], areas: Collection[str] | None = None) -> set[Mutant]:
    """The mutants that are declared as equivalent. Raises ``CandidateError`` for an entry that matches none."""
    entries = {entry[:3] for entry in EQUIVALENTS}
    equivalent = {mutant for mutant in mutants if _identity(mutant) in entries}
    matching = set(map(_identity, equivalent))
    files = {file for area in areas or AREAS for file in AREAS[area].modules}
    for entry in EQUIVALENTS:
        if entry.file in files and entry[:3] not in matching:
            raise CandidateError(f"{entry.file} has no [{entry.text}] with {entry.operator!r}: remove the entry")
    return equivalent


def _identity(mutant: Mutant) -> tuple[str, str, str]:
    return mutant.file, mutant.text, mutant.change.operator
