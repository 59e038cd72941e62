"""Second shapes: cases that call a function right after the same call with other shapes, in one process.

A compiler makes a new program for each new shape. A faulty compiler may reuse the program or the results of the
previous shape. A case of a second shape (tag ``recompiled``) is made from two cases that differ only in shapes and
values. Its preparation makes the first call, so the time of the second call shows the cost of a new shape in a process
that has already run the function.

A suite may keep its pairs in a file (``KEPT``), so that they stay if more cases are added to the suite.
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

UNUSUAL_VALUES = frozenset({"non-finite", "tails", "one-signed"})
"""The tags of variants with unusual values. Their failures could come from the values instead of the shape."""
LARGE = frozenset({"sized-large", "sized-rows"})
"""The tags of variants with large arrays. Calling hundreds of them once more would take too long."""
Remake = Callable[[Function, Any], Prepare]
"""Makes from a function and a ``prepare`` of it the ``prepare`` that both calls of a case share."""
KEPT = "second_shapes.json"
"""The name of the file of kept pairs, beside a suite's ``__init__.py``."""
_UNUSABLE = UNUSUAL_VALUES | LARGE | {WRONG_ON_HOST}
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
    """Makes the call with another shape, then prepares the call to test."""

    prepare: Prepare
    count: int
    """How many arrays belong to the tested call. The arrays of the first call follow them."""

    @property
    def written(self) -> str | None:
        """The written call, if the framework's ``prepare`` has one."""
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
    """Add a case of a second shape to each function that has two suitable cases. The pairs in ``kept`` come first."""
    return [_with_second_shape(function, remake, (kept or {}).get(function.name)) for function in functions]


def _with_second_shape(function: Function, remake: Remake, kept: KeptPair | None) -> Function:
    pair = pair_of(function.cases) if kept is None else _pair_cases(function, kept)
    if pair is None:
        return function
    prepare = pair[1].prepare
    case = recompiled(*pair, remake(function, prepare) if kept is None or kept.is_remade else prepare)
    # It stands before the case with the same shape, because otherwise the shape would not be new to the process.
    place = function.cases.index(pair[1])
    return dataclasses.replace(function, cases=[*function.cases[:place], case, *function.cases[place:]])


def _pair_cases(function: Function, kept: KeptPair) -> tuple[Case, Case]:
    first, second = (
        next(case for case in function.cases if case.id == f"{function.name}/{name}")
        for name in (kept.first, kept.second)
    )
    return first, second


def recompiled(first: Case, second: Case, prepare: Prepare) -> Case:
    """Make a case that makes the call of the first case, and then the call of the second case. ``prepare`` prepares
    both calls."""
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
    """Choose two cases of a function for its case of a second shape; None if no two cases are suitable.

    Both have the same written call and arrays of the same dtypes, but other shapes. Neither has an empty array or
    unusual values. Plain calls are preferred to gradients, shapes of equal ranks to others, and cases of the quick form
    to others.
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
    """Yield the ordered pairs of cases that have the same call and dtypes, and whose values can be compared."""
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
