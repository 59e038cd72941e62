"""Second shapes: a call of a function right after the same call in another shape, in one process.

A compiler makes a new program for each new shape, and a faulty one may use what it made or computed for the shape
before. A case of a second shape (tag ``recompiled``) is made of two cases that differ in shapes and values alone. Its
preparation makes the first call, so the time of the second one is what a new shape costs a process that has run the
function already.

Evidence counts by the digest of a case. So where a suite gets more cases, the pairs that it had before are kept in a
file (``KEPT``), though a new case may make a better pair.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from typing import Any, NamedTuple

from protocol.enums import GRADIENT, REAL, RECOMPILED, WRONG_ON_HOST, InputKind
from runners.errors import UntestedError
from runners.suite.cases import Case, Context, Function, Prepare
from runners.suite.frozen import QUICK, FrozenArguments, pack_of, shape_in

UNUSUAL_VALUES = frozenset({"non-finite", "tails"})
"""The tags of variants with unusual values: they would say less of a shape than of these."""
Remake = Callable[[Function, Any], Prepare]
"""Makes of a function's ``prepare`` the one that both calls of a case share."""
KEPT = "second_shapes.json"
"""The name of the file of kept pairs, beside a suite's ``__init__.py``."""
_UNUSABLE = UNUSUAL_VALUES | {WRONG_ON_HOST}
Shapes = tuple[tuple[int, ...], ...]


class KeptPair(NamedTuple):
    """The names of the two cases of a function that make its case of a second shape."""

    first: str
    second: str
    is_remade: bool
    """Whether the call is prepared by ``remake``, or as the second case prepares it."""


def kept_pairs(path: Path) -> dict[str, KeptPair]:
    """The pairs of a file of kept pairs, by function."""
    return {function: KeptPair(*pair) for function, pair in json.loads(path.read_text(encoding="utf-8")).items()}


@dataclass(frozen=True)
class AfterAnotherShape:
    """Prepares a call after the same call in another shape."""

    prepare: Prepare
    count: int
    """The number of arrays of the call that is tested; those of the first call follow."""

    @property
    def written(self) -> str | None:
        """The written call, where the framework's ``prepare`` is of one."""
        return getattr(self.prepare, "written", None)

    def __call__(self, context: Context, *arrays: Any) -> Callable[[], Any]:
        try:
            with context.surroundings():
                context.to_host(self.prepare(context, *arrays[self.count :])())
        except Exception as error:
            raise UntestedError(f"the call in the first shape raised {type(error).__name__}") from error
        return self.prepare(context, *arrays[: self.count])


def with_second_shapes(
    functions: Sequence[Function],
    remake: Remake = lambda function, prepare: prepare,
    kept: Mapping[str, KeptPair] | None = None,
) -> list[Function]:
    """The functions of a frozen suite; each that has a pair of cases for it also has a case of a second shape.

    A pair of ``kept`` comes before any other.
    """
    return [_with_second_shape(function, remake, (kept or {}).get(function.name)) for function in functions]


def _with_second_shape(function: Function, remake: Remake, kept: KeptPair | None) -> Function:
    pair = pair_of(function.cases) if kept is None else _named(function, kept)
    if pair is None:
        return function
    prepare = pair[1].prepare
    case = recompiled(*pair, remake(function, prepare) if kept is None or kept.is_remade else prepare)
    # Before the case that has the shape, which would else not be new to the process.
    place = function.cases.index(pair[1])
    return dataclasses.replace(function, cases=[*function.cases[:place], case, *function.cases[place:]])


def _named(function: Function, kept: KeptPair) -> tuple[Case, Case]:
    first, second = (
        next(case for case in function.cases if case.id == f"{function.name}/{name}")
        for name in (kept.first, kept.second)
    )
    return first, second


def recompiled(first: Case, second: Case, prepare: Prepare) -> Case:
    """The case that makes the call of the second case after that of the first; ``prepare`` prepares both calls."""
    own, others = _arguments(second), _arguments(first)
    in_place = second.in_place
    if not isinstance(in_place, bool):
        in_place = (*in_place, *(len(own.digests) + position for position in in_place))
    return dataclasses.replace(
        second,
        id=f"{second.id}-{RECOMPILED}",
        arguments=FrozenArguments(own.package, (*own.digests, *others.digests)),
        prepare=AfterAnotherShape(prepare, len(own.digests)),
        in_place=in_place,
        tags=(*second.tags, RECOMPILED),
    )


def pair_of(cases: Sequence[Case]) -> tuple[Case, Case] | None:
    """The two cases of a function that make its case of a second shape; None if it has no such cases.

    They have one written call, arrays of the same dtypes in other shapes, no empty array and no unusual values. Plain
    calls come before gradients, shapes of the same ranks before others, and cases of the quick form before others.
    """
    order = {case.id: place for place, case in enumerate(cases)}
    best: tuple[tuple[Any, ...], tuple[Case, Case]] | None = None
    for first, second in _alike(cases):
        shapes = _shapes(first), _shapes(second)
        if shapes[0] == shapes[1]:
            continue
        rank = (
            GRADIENT in (*first.tags, *second.tags),
            [*map(len, shapes[0])] != [*map(len, shapes[1])],
            InputKind.plain not in second.tags,
            REAL not in second.tags,
            QUICK not in second.tags,
            InputKind.plain not in first.tags,
            order[first.id] > order[second.id],
            order[first.id],
            order[second.id],
        )
        if best is None or rank < best[0]:
            best = rank, (first, second)
    return best[1] if best else None


def _alike(cases: Sequence[Case]) -> Iterator[tuple[Case, Case]]:
    """The ordered pairs of cases with one call and the same dtypes, of which values can be compared."""
    groups: dict[Any, list[Case]] = {}
    for case in cases:
        is_usable = case.reference is not None and case.host_only is None and not _UNUSABLE & set(case.tags)
        if is_usable and isinstance(case.arguments, FrozenArguments) and all(map(all, _shapes(case) or [(0,)])):
            groups.setdefault((case.prepare, case.dtype, _dtypes(case)), []).append(case)
    for group in groups.values():
        yield from permutations(group, 2)


def _arguments(case: Case) -> FrozenArguments:
    if not isinstance(case.arguments, FrozenArguments):
        raise TypeError(f"{case.id} is not a frozen case")
    return case.arguments


def _shapes(case: Case) -> Shapes:
    arguments = _arguments(case)
    pack_set = pack_of(arguments.package)
    return tuple(shape_in(pack_set, digest) for digest in arguments.digests)


def _dtypes(case: Case) -> tuple[str, ...]:
    arguments = _arguments(case)
    pack_set = pack_of(arguments.package)
    return tuple(map(pack_set.dtype, arguments.digests))
