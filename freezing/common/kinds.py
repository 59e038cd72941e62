"""The kinds of input that a case is tagged with, and the quick form: cases of each function that meet them."""

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
"""The class of a dtype; any other is ``integer``."""
LEAST_QUICK = 4
"""Cases of a function in the quick form, where it has so many that differ."""


def kinds_of(shapes: Collection[tuple[int, ...]], dtype: str, *, has_strides: bool = False) -> tuple[str, ...]:
    """The kinds of a call's arrays, of these shapes, and the class of its dtype."""
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
    """Whether arrays of these shapes go together."""
    longest = max(map(len, shapes))
    columns = zip(*((1,) * (longest - len(shape)) + shape for shape in shapes))
    return all(len({size for size in column if size != 1}) <= 1 for column in columns)


def mark_quick(cases: Iterable[dict[str, Any]], base: Iterable[dict[str, Any]] = ()) -> None:
    """Tag of each function about half of its cases, each the one that adds most to those before it.

    Kinds count first, by themselves and together, and then what a call says beside its arrays. Fewer would do to see
    what falls back; of functions that fail, many do so in one case of ten. The cases of ``base`` were tagged before:
    what they meet is met, and they count among those of the function, and stay as they are. A case with large arrays is
    not quick: it takes as long as dozens of others.
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
            best = max(left, key=lambda found: (len(found[1] - met), len(found[2] - met)), default=None)
            if best is None or not (best[1] | best[2]) - met:
                break
            left.remove(best)
            met |= best[1] | best[2]
            best[0]["tags"] = [*best[0]["tags"], QUICK]


def kinds_met(case: Mapping[str, Any]) -> frozenset[str]:
    """The tags of a case, by themselves and all together, and the variant of its operator."""
    variant = re.sub(r"-\d+", "", case["name"])
    return frozenset({*case["tags"], " ".join(sorted(case["tags"])), variant})


def plain_values(tree: Any, path: str = "") -> Iterator[str]:
    """Each plain value of a written call with its place; of numbers only the sign, and of an array only its form."""
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
