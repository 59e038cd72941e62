"""References: what a result is judged by when a case is frozen, the most independent first.

``numpy`` is the OpInfo's own reference, written with NumPy and SciPy; ``decomposition`` is the library's reference in
Python, in float64; ``float64`` is the same function on the CPU in float64; ``itself`` is the same function on the CPU,
for whole numbers that no wider type makes more exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import torch
import torch._refs
from torch.testing._internal.common_utils import torch_to_numpy_dtype_dict

from runners.errors import UnjudgedError
from runners.suite.checks import TOLERANCES, Expected, Leaf, Mismatch, Tolerance, compare, leaves
from runners.torch.freezing.samples import tensors_in

WIDE = {torch.float16: torch.float64, torch.bfloat16: torch.float64, torch.float32: torch.float64}
WIDE[torch.complex64] = torch.complex128
NUMPY_TESTS = ("test_numpy_ref", "test_reference_numerics_normal", "test_reference_numerics")
Call = tuple[list[Any], dict[str, Any]]


def tolerance_of(op: Any, dtype: str, observed: Any) -> Tolerance:
    """The tolerance of the dtypes of a result, or what the operator's own tests declare if that is wider."""
    found = [TOLERANCES[leaf.dtype] for leaf in leaves(observed) if leaf.dtype in TOLERANCES]
    found += [
        Tolerance(0.0, declared) if isinstance(declared, float) else Tolerance(declared.rtol, declared.atol)
        for declared in _declared(op, dtype)
    ]
    found.append(TOLERANCES[dtype])
    return Tolerance(max(one.relative for one in found), max(one.absolute for one in found))


def _declared(op: Any, dtype: str) -> Iterator[Any]:
    for info in op.decorators:
        if getattr(info, "device_type", None) not in (None, "cpu"):
            continue
        for decorator in getattr(info, "decorators", [info]):
            by_dtype = getattr(decorator, "d", None)
            if isinstance(by_dtype, Mapping) and getattr(torch, dtype) in by_dtype:
                yield by_dtype[getattr(torch, dtype)]


def judge(op: Any, dtype: str, fresh: Callable[[], Call], function: Any, observed: Any) -> tuple[str, Any]:
    """The kind of the first reference that agrees with a result, and the expected tree. Raises ``UnjudgedError``."""
    reason = "there is no reference"
    for kind, reference in _ranked(op, dtype, fresh, function):
        try:
            with np.errstate(all="ignore"):
                expected = fill(observed, flat(reference()))
                compare(observed, wrapped(expected), dtype, tolerance_of(op, dtype, observed))
        except Mismatch as error:
            reason = f"{kind}: differs: {error}"
            continue
        except Exception as error:
            reason = f"{kind}: raises {type(error).__name__}"
            continue
        return kind, expected
    raise UnjudgedError(reason)


def _ranked(op: Any, dtype: str, fresh: Callable[[], Call], function: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    def call(by: Any, change: Callable[[Any], Any]) -> Any:
        arguments, options = fresh()
        return by(*change(arguments), **change(options))

    if op.ref is not None and callable(op.ref) and not _skips_numpy(op, dtype):
        yield "numpy", lambda: call(op.ref, lambda tree: to_numpy(widened(tree)))
    decomposition = looked_up(torch._refs, op.name)
    if decomposition is not None:
        yield "decomposition", lambda: call(decomposition, widened)
    arguments, options = fresh()
    if any(tensor.dtype in WIDE for tensor in tensors_in((arguments, options))):
        yield "float64", lambda: call(function, widened)
    else:
        yield "itself", lambda: call(function, lambda tree: tree)


def _skips_numpy(op: Any, dtype: str) -> bool:
    """Whether the operator's own tests declare that the NumPy reference is not to be compared with."""
    return any(
        getattr(info, "test_name", None) in NUMPY_TESTS
        and getattr(info, "device_type", None) in (None, "cpu")
        and (not info.dtypes or getattr(torch, dtype) in info.dtypes)
        for info in op.skips
    )


def looked_up(root: Any, name: str) -> Any:
    for part in name.split("."):
        root = getattr(root, part, None)
    return root if callable(root) else None


def widened(tree: Any) -> Any:
    """The tree with every float as float64, and every complex number as complex128."""
    return changed(tree, lambda tensor: tensor.to(WIDE.get(tensor.dtype, tensor.dtype)))


def to_numpy(tree: Any) -> Any:
    return changed(tree, lambda tensor: tensor.resolve_conj().resolve_neg().numpy(), torch_to_numpy_dtype_dict.get)


def changed(tree: Any, tensor: Callable[[Any], Any], dtype: Callable[[Any], Any] = lambda value: value) -> Any:
    if isinstance(tree, torch.Tensor):
        return tensor(tree)
    if isinstance(tree, torch.dtype):
        return dtype(tree)
    if isinstance(tree, torch.Size):
        return tree
    if isinstance(tree, (list, tuple)):
        members = [changed(member, tensor, dtype) for member in tree]
        return members if isinstance(tree, list) else tuple(members)
    if isinstance(tree, dict):
        return {key: changed(member, tensor, dtype) for key, member in tree.items()}
    return tree


def flat(tree: Any) -> list[Any]:
    """The arrays and plain values of a tree, in order."""
    if isinstance(tree, torch.Tensor):
        return [tree.detach().resolve_conj().resolve_neg().to(WIDE.get(tree.dtype, tree.dtype)).numpy()]
    if isinstance(tree, (list, tuple)):
        return [leaf for member in tree for leaf in flat(member)]
    if isinstance(tree, Mapping):
        return [leaf for member in tree.values() for leaf in flat(member)]
    return [tree]


def fill(observed: Any, values: list[Any]) -> Any:
    """The observed tree with the reference's values in it. Raises ``Mismatch`` where they do not belong."""
    left = list(values)

    def place(member: Any) -> Any:
        if isinstance(member, (list, tuple)):
            return type(member)(map(place, member))
        if isinstance(member, Mapping):
            return {key: place(value) for key, value in member.items()}
        if not left:
            raise Mismatch("the reference returns fewer values")
        value = left.pop(0)
        return _filled(member, np.asarray(value)) if isinstance(member, Leaf) else member

    expected = place(observed)
    if left:
        raise Mismatch("the reference returns more values")
    return expected


def _filled(leaf: Leaf, value: Any) -> Leaf:
    kind = leaf.values.dtype.kind
    if value.shape != leaf.values.shape:
        raise Mismatch(f"the reference's shape is {value.shape}")
    if value.dtype.kind not in "biufc" or (value.dtype.kind == "c" and kind != "c"):
        raise Mismatch(f"the reference's values are {value.dtype}")
    if kind in "biu" and value.dtype.kind in "fc" and not np.array_equal(value, leaf.values):
        raise Mismatch("the reference's values are no whole numbers")
    return Leaf(value.astype(leaf.values.dtype), leaf.dtype, leaf.device)


def wrapped(expected: Any) -> Any:
    """The tree as a comparison takes it: each array with its dtype."""
    if isinstance(expected, Leaf):
        return Expected(expected.values, expected.dtype)
    if isinstance(expected, (list, tuple)):
        return type(expected)(map(wrapped, expected))
    if isinstance(expected, Mapping):
        return {key: wrapped(member) for key, member in expected.items()}
    return expected
