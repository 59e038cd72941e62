"""The kinds of variants in which many functions fail that pass everything else, and the quick form, which has a case of
each kind.

A framework checks arguments in other code than it computes with. So a function may compute the right values and still
accept a call that the host refuses. ``python -m freezing.common.deciding`` counts, for charts of several targets, how
many functions fail only in one kind.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from runners.suite.cases import Case, Function
from runners.suite.frozen import QUICK

DECIDING: Sequence[str] = (
    "other-dtype",
    "emptied",
    "not-a-number",
    "below-zero",
    "zeros",
    "zero",
    "index-far",
    "index-negative",
    "index-below",
    "non-finite",
    "wrong",
)
"""The kinds, as the ends of the names of their cases. On torch/xla and tensorflow/xla together, at least 2 % of the
functions with the kind fail only in it, or at least a third fail in it. Kinds of dtypes and sizes decide less often: a
function that fails in one of them mostly fails in others too. A case with the last ending fails on the host's CPU by a
reviewed defect."""


def quick_and_deciding(functions: Sequence[Function]) -> list[Function]:
    """Return the functions with only the cases of the quick form, and one case of each deciding kind that has none
    there. The further cases keep their tags, because tags are part of their digests."""
    return [dataclasses.replace(function, cases=_choose(function.cases)) for function in functions]


def _choose(cases: Sequence[Case]) -> list[Case]:
    ids = {case.id for case in cases if QUICK in case.tags}
    for kind in DECIDING:
        of_kind = [case for case in cases if kind_of(case.id) == kind]
        if of_kind and not any(case.id in ids for case in of_kind):
            ids.add(of_kind[0].id)
    return [case for case in cases if case.id in ids]


def kind_of(case_id: str) -> str | None:
    """Return the deciding kind of a case; None if it has another kind."""
    name = case_id.rpartition("/")[2]
    return max((kind for kind in DECIDING if name.endswith(f"-{kind}")), key=len, default=None)
