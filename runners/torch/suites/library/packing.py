"""Handwritten cases of sequences of different lengths that are packed for a recurrent layer.

They cover the most used functions without samples in torch's own tests. NumPy judges them, as in ``by_hand.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from runners.suite.cases import Context, Function
from runners.suite.checks import Expected
from runners.torch.suites.library.by_hand import TAGS, Array, chart_in

FUNCTIONS: list[Function] = []
charted = partial(chart_in, FUNCTIONS)


def packed(context: Context, values: Any, lengths: Any, **options: Any) -> Callable[[], Any]:
    """Prepare the steps of all sequences, one after the other, and the number of sequences that contain each step."""

    def call() -> Any:
        pack = context.function(values, lengths, **options)
        return pack.data, pack.batch_sizes

    return call


def packed_by_hand(values: Array, lengths: list[int], batch_first: bool, enforce_sorted: bool = True) -> Any:
    rows = sorted(zip(lengths, values if batch_first else values.swapaxes(0, 1)), key=lambda row: -row[0])
    steps = [row[step] for step in range(max(lengths)) for length, row in rows if step < length]
    sizes = [sum(step < length for length in lengths) for step in range(max(lengths))]
    return np.stack(steps), Expected(np.array(sizes), "int64")


packing = charted("torch.nn.utils.rnn.pack_padded_sequence", packed_by_hand, packed)
packing.value("float32-batch-first", lambda inputs: [inputs.normal(3, 4, 2), [4, 2, 1]], batch_first=True, tags=TAGS)
packing.value("float32-time-first", lambda inputs: [inputs.normal(4, 3, 2), [4, 2, 1]], batch_first=False, tags=TAGS)
packing.value(
    "float32-unsorted",
    lambda inputs: [inputs.normal(3, 4, 2), [2, 4, 1]],
    batch_first=True,
    enforce_sorted=False,
    tags=TAGS,
)
