"""Handwritten cases of methods of arrays: indexing, updates at an index, transposition.

They cover the most used functions without a recipe. NumPy judges them, as in ``by_hand.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from runners.jax.suites.library.by_hand import TAGS, Array, chart_in
from runners.suite.cases import Context, Function

FUNCTIONS: list[Function] = []
charted = partial(chart_in, FUNCTIONS)

PLACES: dict[str, Any] = {
    "row": 1,
    "last-row": -1,
    "rows": slice(1, 3),
    "reversed": slice(None, None, -1),
    "every-other-column": (slice(None), slice(None, None, 2)),
    "column": (Ellipsis, 2),
    "element": (2, 3),
    "new-axis": (slice(None), None),
}
"""Indices of a 4 by 5 array."""


getitem = charted("jax.Array.__getitem__", lambda values, place: values[place])
for name, place in PLACES.items():
    getitem.value(
        f"float32-{name}",
        lambda inputs, place=place: [inputs.normal(4, 5), place],  # type: ignore[misc]
        tags=TAGS,
    )
getitem.value("float32-indices", lambda inputs: [inputs.normal(4, 5), np.array([3, 0])], tags=TAGS)
getitem.value("float32-mask", lambda inputs: [inputs.normal(4, 5), np.array([True, False, False, True])], tags=TAGS)
getitem.value(
    "int32-indices", lambda inputs: [inputs.integers(4, 5, dtype="int32"), np.array([3, 0])], dtype="int32", tags=TAGS
)


def updated_by_property(context: Context, values: Any, place: Any, source: Any) -> Callable[[], Any]:
    return lambda: context.function(values)[place].set(source)


def updated_by_hand(values: Array, place: Any, source: Array) -> Array:
    copy = values.copy()
    copy[place] = source
    return copy


def property_of(context: Context, values: Any) -> Callable[[], Any]:
    return lambda: context.function(values)


at = charted("jax.Array.at", updated_by_hand, updated_by_property)
for name in ("row", "rows", "every-other-column", "element"):
    at.value(
        f"float32-{name}",
        lambda inputs, place=PLACES[name]: [  # type: ignore[misc]
            inputs.normal(4, 5),
            place,
            inputs.normal(*np.empty((4, 5))[place].shape),
        ],
        tags=TAGS,
    )
charted("jax.Array.T", np.transpose, property_of).value("float32-3x4", lambda inputs: [inputs.normal(3, 4)], tags=TAGS)
