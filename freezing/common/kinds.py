"""Name the kinds of input of a case, and choose the *quick* cases: about half of each function's, that cover them."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from freezing.common.samples import NO_ARRAY
from protocol.enums import REAL
from runners.suite.frozen import QUICK
from runners.suite.second_shapes import LARGE

CLASSES: Mapping[str, str] = {
    "float16": "low-precision",
    "bfloat16": "low-precision",
    "float32": REAL,
    "float64": REAL,
    "complex64": "complex",
    "complex128": "complex",
    "bool": "boolean",
}
"""The class of each dtype. The class of any other dtype is ``integer``."""
LEAST_QUICK = 4
"""The limit of quick cases for a function with few cases. For others the limit is about half."""


def kinds_of(shapes: Collection[tuple[int, ...]], dtype: str, *, has_strides: bool = False) -> tuple[str, ...]:
    """Return labels for a call: one for each special property of its arrays (such as ``empty``), or ``plain``; then one
    for its dtype (such as ``complex``)."""
    shapes = set(shapes)
    holds_by_kind = {
        NO_ARRAY: not shapes,
        "empty": any(0 in shape for shape in shapes),
        "0-dim": () in shapes,
        "broadcast": len(shapes) > 1 and _broadcast(shapes),
        "strided": has_strides,
    }
    kinds = [kind for kind, holds in holds_by_kind.items() if holds] or ["plain"]
    return (*kinds, CLASSES.get(dtype, "integer"))


def _broadcast(shapes: Iterable[tuple[int, ...]]) -> bool:
    """Whether arrays of these shapes can be broadcast together."""
    longest = max(map(len, shapes))
    columns = zip(*((1,) * (longest - len(shape)) + shape for shape in shapes))
    return all(len({size for size in column if size != 1}) <= 1 for column in columns)


def mark_quick(cases: Iterable[dict[str, Any]], base: Iterable[dict[str, Any]] = ()) -> None:
    """Tag at most about half of each function's cases as quick: always next the case that adds most to the chosen ones.

    A case adds kinds of input, single and in combination. In a tie, the new plain values of its call count. Fewer cases
    would be enough to find fallbacks, but many functions fail in only one case of ten. The cases of ``base`` count as
    cases of the function, and their quick tags stay as they are. A case with large arrays is not quick, because it
    takes as long as dozens of others.
    """
    functions: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for case in cases:
        functions[case["function"]].append(case)
    before: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for case in base:
        before[case["function"]].append(case)
    for function, own in functions.items():
        left = [
            (case, kinds_met(case), frozenset(plain_values(json.loads(case["call"]))))
            for case in own
            if not LARGE & set(case["tags"])
        ]
        quick_before = [case for case in before[function] if QUICK in case["tags"]]
        met: set[str] = set()
        for case in quick_before:
            met |= kinds_met(case) | set(plain_values(json.loads(case["call"])))
        most = max(LEAST_QUICK, (len(own) + len(before[function])) // 2 + 1)
        for _ in range(most - len(quick_before)):
            best = max(left, key=lambda entry: (len(entry[1] - met), len(entry[2] - met)), default=None)
            if best is None or not (best[1] | best[2]) - met:
                break
            left.remove(best)
            met |= best[1] | best[2]
            best[0]["tags"] = [*best[0]["tags"], QUICK]


def kinds_met(case: Mapping[str, Any]) -> frozenset[str]:
    """Return each tag of a case, all tags joined as one text, and the case's name without its number."""
    variant = re.sub(r"-\d+", "", case["name"])
    return frozenset({*case["tags"], " ".join(sorted(case["tags"])), variant})


def plain_values(tree: Any, path: str = "") -> Iterator[str]:
    """Yield each value of a written call with its place: the type and sign of a number, the layout of an array."""
    if isinstance(tree, list):
        for place, member in enumerate(tree):
            yield from plain_values(member, f"{path}.{place}")
    elif isinstance(tree, Mapping):
        if "array" in tree:
            yield f"{path} array {sorted(set(tree) - {'array'})}"
            return
        for key, member in tree.items():
            if key == "mapping":
                for name, value in member:
                    yield from plain_values(value, f"{path}.{name}")
            else:
                yield from plain_values(member, f"{path}.{key}")
    elif isinstance(tree, (int, float)) and not isinstance(tree, bool):
        yield f"{path} {type(tree).__name__} {(tree > 0) - (tree < 0)}"
    else:
        yield f"{path} {tree}"
