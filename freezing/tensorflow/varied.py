"""Varied calls of a public function: frozen cases with other inputs, as samples for the gate."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from freezing.common.kinds import kinds_of
from freezing.common.samples import Sample
from freezing.common.variants import Call, Variant
from runners.suite.frozen import PackSet, PackWriter
from runners.suite.rounding import dtype_on_device


def _rows(call: Call) -> int:
    """The length of the first axis of the first array that has one."""
    return next((array.shape[0] for array in call.arrays if array.ndim), 0)


def _without_rows(call: Call, rng: np.random.Generator) -> Call:
    rows = _rows(call)
    return call.having({
        number: array[:0] for number, array in enumerate(call.arrays) if array.ndim and len(array) == rows
    })  # fmt: skip


NO_ROWS = Variant("no-rows", "", lambda call: _rows(call) > 0, _without_rows)
"""No rows in the first array, and in those that have as many."""


def call_of(case: Mapping[str, Any], pack: PackSet) -> Call:
    arrays = tuple(pack.array(digest) for digest in case["arrays"])
    name = f"{case['function']}/{case['name']}"
    inputs = frozenset(range(len(arrays)))
    return Call(name, case["dtype"], frozenset(case["tags"]), arrays, json.loads(case["call"]), inputs)


def sample_of(case: Mapping[str, Any], new_call: Call, variant: Variant, pack: PackWriter) -> Sample:
    """The sample of a case's changed call, whose arrays are kept."""
    digests = tuple(pack.add(array, dtype_on_device(array, new_call.dtype)) for array in new_call.arrays)
    shapes = [array.shape for array in new_call.arrays]
    return Sample(
        f"{case['name']}-{variant.name}",
        new_call.dtype,
        json.dumps(new_call.written, separators=(",", ":")),
        digests,
        (*kinds_of(shapes, new_call.dtype), *variant.tags),
        sum(array.size for array in new_call.arrays),
    )
