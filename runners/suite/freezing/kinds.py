"""The kinds of input that a case is tagged with, and the quick form: a few cases of each function that meet them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from runners.suite.freezing.samples import NO_ARRAY
from runners.suite.frozen import QUICK

CLASSES: Mapping[str, str] = {
    "float16": "low-precision",
    "bfloat16": "low-precision",
    "float32": "real",
    "float64": "real",
    "complex64": "complex",
    "complex128": "complex",
    "bool": "boolean",
}
"""The class of a dtype; any other is ``integer``."""
MOST_QUICK = 4
"""Cases of a function in the quick form."""


def kinds_of(shapes: Collection[tuple[int, ...]], dtype: str, *, strided: bool = False) -> tuple[str, ...]:
    """The kinds of a call's arrays, of these shapes, and the class of its dtype."""
    shapes = set(shapes)
    found = {
        NO_ARRAY: not shapes,
        "empty": any(0 in shape for shape in shapes),
        "0-dim": () in shapes,
        "broadcast": len(shapes) > 1 and _broadcast(shapes),
        "strided": strided,
    }
    kinds = [kind for kind, holds in found.items() if holds] or ["plain"]
    return (*kinds, CLASSES.get(dtype, "integer"))


def _broadcast(shapes: Iterable[tuple[int, ...]]) -> bool:
    """Whether arrays of these shapes go together."""
    longest = max(map(len, shapes))
    columns = zip(*((1,) * (longest - len(shape)) + shape for shape in shapes))
    return all(len({size for size in column if size != 1}) <= 1 for column in columns)


def mark_quick(cases: Iterable[dict[str, Any]]) -> None:
    """Tag of each function the fewest cases, in their order, that meet all kinds of its cases."""
    functions: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for case in cases:
        functions[case["function"]].append(case)
    for own in functions.values():
        left = {kind for case in own for kind in case["tags"]}
        for _ in range(MOST_QUICK):
            best = max(own, key=lambda case: len(left & set(case["tags"])))
            if not left & set(best["tags"]):
                break
            left -= set(best["tags"])
            best["tags"] = [*best["tags"], QUICK]
