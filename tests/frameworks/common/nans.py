"""NaN: the functions of floats for which a case has NaN in its input."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from runners.suite.cases import Case


def assert_fed(function_cases: Sequence[Case], exceptions: Mapping[str, str]) -> None:
    """Check that a function with compared values and floating-point arguments gets NaN in some case, or is listed with
    a reason."""
    value_cases = [case for case in function_cases if case.kind == "value" and case.host_only is None]
    arrays = [
        array for case in value_cases for argument in case.arguments(case.inputs()) for array in floating(argument)
    ]
    has_no_nan = bool(arrays) and not any(np.isnan(array).any() for array in arrays)
    assert has_no_nan is (function_cases[0].function in exceptions)


def floating(tree: Any) -> Iterator[np.ndarray[Any, Any]]:
    """Every array of floating-point or complex numbers, and every list that becomes such an array."""
    if isinstance(tree, (np.ndarray, np.generic)):
        if tree.dtype.kind in "fc":
            yield np.asarray(tree)
    elif isinstance(tree, Mapping):
        for member in tree.values():
            yield from floating(member)
    elif isinstance(tree, (list, tuple)):
        if tree and all(isinstance(member, float) for member in tree):
            yield np.array(tree)
        for member in tree:
            yield from floating(member)
