"""Cases that decide how their process first uses the device: copies of cases with gradients, one for each ``FirstUse``.

The runner uses the device before the cases of a process begin. Users need not: their program may compute on the host
first, or use the device in another thread first. A framework may then set up its device wrongly. The copies compute the
same as the cases from which they are made, and all are in the quick form. They stand after the other cases of their
function, so that as few processes as possible are made.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence

from protocol.enums import FIRST_USES, GRADIENT, REAL, RECOMPILED, FirstUse, InputKind
from runners.suite.cases import Case, Function
from runners.suite.frozen import QUICK


def with_first_uses(functions: Sequence[Function], names: Collection[str]) -> list[Function]:
    """Add a case of each first use to the functions with these names that have a case with a gradient."""
    return [_with_first_uses(function) if function.name in names else function for function in functions]


def _with_first_uses(function: Function) -> Function:
    base = plainest_gradient(function.cases)
    if base is None:
        return function
    tags = (*base.tags, *({QUICK} - set(base.tags)))
    cases = [
        dataclasses.replace(base, id=f"{base.id}-{first_use}", tags=(*tags, first_use.value)) for first_use in FirstUse
    ]
    return dataclasses.replace(function, cases=[*function.cases, *cases])


def plainest_gradient(cases: Sequence[Case]) -> Case | None:
    """Return the first case that compares the gradient of a function; None without one. Cases with plain inputs come
    first, then cases in float32, then cases with the fewest tags, which are no variants."""
    gradients = [case for case in cases if case.reference is not None and GRADIENT in case.tags]
    usual = [case for case in gradients if not {RECOMPILED, *FIRST_USES} & set(case.tags)]
    return min(
        usual,
        key=lambda case: (InputKind.plain not in case.tags, REAL not in case.tags, len({*case.tags} - {QUICK})),
        default=None,
    )
