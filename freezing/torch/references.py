"""The references with which the result of a sample is compared, the most independent first.

- ``numpy``: the OpInfo's own reference, written with NumPy and SciPy, or a formula of ``normalizations.py``
- ``decomposition``: torch's reference in Python, computed in float64
- ``float64``: the same function on the CPU in float64
- ``itself``: the same function on the CPU, for integers, which no wider type makes more exact

The references ``differences`` and ``reference`` are in ``differences.py`` and ``modules.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
import torch._refs
from freezing.common import agreement
from freezing.common.agreement import Reference, members
from freezing.common.gate import Arguments
from freezing.torch import normalizations
from runners.suite.checks import Tolerance
from runners.torch.ways import tensors_in
from runners.torch.widening import WIDE, changed, widened
from torch.testing._internal.common_utils import torch_to_numpy_dtype_dict

NUMPY_TESTS = ("test_numpy_ref", "test_reference_numerics_normal", "test_reference_numerics")


def tolerance_of(op: Any, dtype: str, result: Any) -> Tolerance:
    """Return the tolerance of the result's dtypes, or that of the operator's own tests if it is wider."""
    return agreement.tolerance_of(dtype, result, _declared_tolerances(op, dtype))


def _declared_tolerances(op: Any, dtype: str) -> Iterator[Tolerance]:
    for info in op.decorators:
        if getattr(info, "device_type", None) not in (None, "cpu"):
            continue
        for decorator in getattr(info, "decorators", [info]):
            by_dtype = getattr(decorator, "d", None)
            if isinstance(by_dtype, Mapping) and getattr(torch, dtype) in by_dtype:
                wider = by_dtype[getattr(torch, dtype)]
                yield Tolerance(0.0, wider) if isinstance(wider, float) else Tolerance(wider.rtol, wider.atol)


def rank(op: Any, dtype: str, fresh: Callable[[], Arguments], function: Any) -> Iterator[tuple[str, Reference]]:
    """Yield the references of a call, the most independent first."""

    def call(by: Any, change: Callable[[Any], Any]) -> list[Any]:
        arguments, options = fresh()
        return flat(by(*change(arguments), **change(options)))

    formula = op.ref if callable(op.ref) and not _skips_numpy(op, dtype) else normalizations.FUNCTIONS.get(op.name)
    if formula is not None:
        yield "numpy", lambda: call(formula, lambda tree: to_numpy(widened(tree)))
    decomposition = looked_up(torch._refs, op.name)
    if decomposition is not None:
        yield "decomposition", lambda: call(decomposition, widened)
    arguments, options = fresh()
    if any(tensor.dtype in WIDE for tensor in tensors_in((arguments, options))):
        yield "float64", lambda: in_float64(function, fresh)
    else:
        yield "itself", lambda: call(function, lambda tree: tree)


def in_float64(function: Callable[..., Any], fresh: Callable[[], Arguments]) -> list[Any]:
    """Return the result of the same function in float64."""
    arguments, options = fresh()
    return flat(function(*widened(arguments), **widened(options)))


def _skips_numpy(op: Any, dtype: str) -> bool:
    """Whether the operator's own tests declare that its NumPy reference must not be used."""
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


def to_numpy(tree: Any) -> Any:
    return changed(tree, lambda tensor: tensor.resolve_conj().resolve_neg().numpy(), torch_to_numpy_dtype_dict.get)


def flat(tree: Any) -> list[Any]:
    """Return the arrays and plain values of a tree, in order."""

    def plain(member: Any) -> Any:
        if not isinstance(member, torch.Tensor):
            return member
        return member.detach().resolve_conj().resolve_neg().to(WIDE.get(member.dtype, member.dtype)).numpy()

    return [plain(member) for member in members(tree)]
