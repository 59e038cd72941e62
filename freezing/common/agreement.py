"""Compare a function's result with its references, and make the expected result from the reference that agrees."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from runners.errors import UnjudgedError
from runners.suite.checks import TOLERANCES, Expected, Leaf, Mismatch, Tolerance, compare, leaves
from runners.suite.frozen import BFLOAT16
from runners.suite.precision import ROUNDOFF, SPREAD, terms
from runners.suite.rounding import to_bfloat16
from runners.suite.trees import mapped

Reference = Callable[[], "list[Any]"]
"""Computes the arrays (as NumPy arrays) and plain values of a result, in order."""


def tolerance_of(dtype: str, result: Any, own_tolerances: Iterable[Tolerance] = ()) -> Tolerance:
    """Return the widest tolerance: of the dtypes in the result, of the case's dtype, or of ``own_tolerances``."""
    tolerances = [TOLERANCES[leaf.dtype] for leaf in leaves(result) if leaf.dtype in TOLERANCES]
    tolerances += [*own_tolerances, TOLERANCES[dtype]]
    return Tolerance(max(one.relative for one in tolerances), max(one.absolute for one in tolerances))


def tolerance_of_sums(
    tolerance: Tolerance, dtype: str, inputs: Sequence[np.ndarray[Any, Any]], result: Any
) -> Tolerance:
    """Return the tolerance of a result. It is wider if the values are sums of very many terms.

    The CPU adds the terms in a tree. A device may add one term after another, which is less exact but not wrong.
    """
    most = max((terms(inputs, leaf.values) for leaf in leaves(result) if leaf.values.dtype.kind in "fc"), default=1)
    roundings = SPREAD * math.sqrt(most) * ROUNDOFF.get(dtype, 0.0)
    return Tolerance(max(tolerance.relative, roundings), tolerance.absolute)


def judge(
    references: Iterable[tuple[str, Reference]], result: Any, dtype: str, tolerance: Tolerance
) -> tuple[str, Any]:
    """Return the kind of the first reference that agrees with a result, and the expected tree.

    Raise ``UnjudgedError`` if no reference agrees. Also raise ``UnjudgedError`` if a reference differs from the result
    only in which elements are NaN, because then the result is not determined. An example is the mean of an empty array.
    """
    reason = "there is no reference"
    for kind, reference in references:
        reference_result = None
        try:
            with np.errstate(all="ignore"):
                reference_result = fill(result, reference())
                compare(result, wrap(reference_result), dtype, tolerance)
        except Mismatch as error:
            if reference_result is not None and _agree_but_for_nan(result, reference_result, dtype, tolerance):
                raise UnjudgedError(f"{kind}: not determined: {error}") from error
            reason = f"{kind}: differs: {error}"
            continue
        except Exception as error:
            reason = f"{kind}: raises {type(error).__name__}"
            continue
        return kind, reference_result
    raise UnjudgedError(reason)


def _agree_but_for_nan(result: Any, reference_result: Any, dtype: str, tolerance: Tolerance) -> bool:
    """Whether two trees of the same form agree in all elements that are NaN in both or in neither."""
    own = iter(leaves(result))
    without_nan = mapped(reference_result, lambda leaf: _agreed_where_nan(leaf, next(own)), Leaf)
    try:
        compare(result, wrap(without_nan), dtype, tolerance)
    except Mismatch:
        return False
    return True


def _agreed_where_nan(leaf: Leaf, own: Leaf) -> Leaf:
    if leaf.values.dtype.kind not in "fc":
        return leaf
    one_is_nan = np.isnan(own.values) != np.isnan(leaf.values)
    return Leaf(np.where(one_is_nan, own.values, leaf.values), leaf.dtype, leaf.device)


def members(tree: Any) -> Iterator[Any]:
    """Yield the leaves of a tree of lists, tuples and mappings, in order."""
    if isinstance(tree, (list, tuple)):
        for member in tree:
            yield from members(member)
    elif isinstance(tree, Mapping):
        for member in tree.values():
            yield from members(member)
    else:
        yield tree


def fill(result: Any, values: list[Any]) -> Any:
    """Return the tree of ``result`` with its values replaced by ``values``, those of the reference.

    Raise ``Mismatch`` if the values do not fit into the tree.
    """
    left = list(values)

    def place(member: Any) -> Any:
        if isinstance(member, (list, tuple)):
            return type(member)(map(place, member))
        if isinstance(member, Mapping):
            return {key: place(value) for key, value in member.items()}
        if not left:
            raise Mismatch("the reference returns fewer values than the function")
        value = left.pop(0)
        return _fill(member, np.asarray(value)) if isinstance(member, Leaf) else member

    tree = place(result)
    if left:
        raise Mismatch("the reference returns more values than the function")
    return tree


def _fill(leaf: Leaf, value: Any) -> Leaf:
    kind = leaf.values.dtype.kind
    if value.shape != leaf.values.shape:
        raise Mismatch(f"the reference has shape {value.shape}, and the result has shape {leaf.values.shape}")
    if value.dtype.kind not in "biufc" or (value.dtype.kind == "c" and kind != "c"):
        raise Mismatch(f"the reference has dtype {value.dtype}, and the result has dtype {leaf.dtype}")
    if kind in "biu" and value.dtype.kind in "fc" and not np.array_equal(value, leaf.values):
        raise Mismatch("the reference has fractions, and the result has integers")
    values = value.astype(leaf.values.dtype)
    # Round here as the pack does, so that the stored expected result is the one that was compared.
    return Leaf(to_bfloat16(values) if leaf.dtype == BFLOAT16 else values, leaf.dtype, leaf.device)


def wrap(tree: Any) -> Any:
    """Replace each array of a tree by an ``Expected`` with its values and dtype, as ``compare`` takes it."""
    if isinstance(tree, Leaf):
        return Expected(tree.values, tree.dtype)
    if isinstance(tree, (list, tuple)):
        return type(tree)(map(wrap, tree))
    if isinstance(tree, Mapping):
        return {key: wrap(member) for key, member in tree.items()}
    return tree
