"""Variants in which all numbers have the sign that shows a wrong start value of a reduction or a padding.

A reduction that starts at 0, or a padding with 0, is right for most inputs. It is wrong for the maximum of negative
numbers and for the minimum of positive ones. Each set of options may have an implementation of its own. So there are
variants of the calls with each mode, and of these calls without one of their options. Pure.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from freezing.common.variants import Array, Call

ONE_SIGNED = "one-signed"
"""The kind of the variants, and the tag of their cases."""
NEGATIVE, POSITIVE = "all-negative", "all-positive"
MOST_OPTIONS = 3
"""The maximum number of options of a call that are left out in turn."""
_REDUCES = re.compile(
    r"(log_?)?softmax|(amin|arg|cum|a)?(max|min)|aminmax|(nan)?(median|quantile)|kthvalue|topk|log(cum)?sumexp|(cum)?prod"
    r"|\w*(pool\d*d?|embedding_?bag|reduce|pad\d*d?|pad_nd)"
)
"""The last parts of names of functions that reduce or pad, in lowercase and without a final underscore."""
_MINIMA = re.compile(r"(a|arg|cum)?min")


def reduces(name: str) -> bool:
    """Whether a function reduces or pads, according to its name."""
    return _REDUCES.fullmatch(name.rpartition(".")[2].rstrip("_").lower()) is not None


def variants_of(function: str, call: Call) -> Iterator[tuple[str, Call]]:
    """Yield the one-signed variant of a call, and the same without each of its options. The texts end their names."""
    sign = POSITIVE if _takes_minimum(function, call.written) else NEGATIVE
    one_signed = _with_sign(call, sign)
    if one_signed is None:
        return
    yield sign, one_signed
    options = call.written["tuple"][1]["mapping"]
    names = [name for name, value in options if value is not None and not _is_array(value)]
    for name in names[:MOST_OPTIONS]:
        yield f"without-{name}-{sign}", dataclasses.replace(one_signed, written=without(call.written, name))


def without(call_tree: Mapping[str, Any], option: str) -> dict[str, Any]:
    """Return a written call without one of its options."""
    tree: dict[str, Any] = json.loads(json.dumps(call_tree))
    options = tree["tuple"][1]
    options["mapping"] = [pair for pair in options["mapping"] if pair[0] != option]
    return tree


def _with_sign(call: Call, sign: str) -> Call | None:
    """Give all floats of the inputs one sign, or all floats of the state if the inputs have none."""
    numbers = call.floats or [
        number for number, array in enumerate(call.arrays) if array.size and array.dtype.kind == "f"
    ]

    def change(array: Array) -> Array:
        distant = np.abs(array) + 1
        return np.asarray(distant if sign == POSITIVE else -distant, array.dtype)

    return call.having({number: change(call.arrays[number]) for number in numbers}) if numbers else None


def _takes_minimum(function: str, call_tree: Mapping[str, Any]) -> bool:
    last_name = function.rpartition(".")[2].rstrip("_").lower()
    return any(_MINIMA.fullmatch(word) for word in (last_name, *_texts(call_tree)))


def _texts(tree: Any) -> Iterator[str]:
    if isinstance(tree, str):
        yield tree
    elif isinstance(tree, list):
        for member in tree:
            yield from _texts(member)
    elif isinstance(tree, Mapping):
        for member in tree.values():
            yield from _texts(member)


def _is_array(value: Any) -> bool:
    return isinstance(value, Mapping) and "array" in value
