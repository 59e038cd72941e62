"""Handwritten cases of how programs read their data: data sets of arrays, and the order in which samplers take the
rows.

They cover the most used functions without samples in torch's own tests. NumPy judges them, as in ``by_hand.py``.
The rows are on the device, and a sampler's numbers select rows there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from runners.suite.cases import Context, Function
from runners.suite.checks import Mismatch
from runners.torch.suites.library.by_hand import TAGS, Array, chart_in

FUNCTIONS: list[Function] = []
charted = partial(chart_in, FUNCTIONS)


def rows_of(context: Context, *arrays: Any) -> Callable[[], Any]:
    """Prepare one row of a data set, several rows at once, and the number of rows."""

    def call() -> Any:
        dataset = context.function(*arrays)
        return list(dataset[1]), list(dataset[2:]), len(dataset)

    return call


def rows_by_hand(*arrays: Array) -> tuple[list[Array], list[Array], int]:
    return [array[1] for array in arrays], [array[2:] for array in arrays], len(arrays[0])


dataset = charted("torch.utils.data.TensorDataset", rows_by_hand, rows_of)
dataset.value("float32-two-arrays", lambda inputs: [inputs.normal(5, 3), inputs.normal(5, 2)], tags=TAGS)


def taken_rows(context: Context, values: Any, *arguments: Any, **options: Any) -> Callable[[], Any]:
    """Prepare the rows in the order of a sampler. The sampler is created from the rows, or from ``arguments`` if there
    are any."""

    def call() -> Any:
        sampler = context.function(*(arguments or [values]), **options)
        return values[list(sampler)]

    return call


ordered = charted("torch.utils.data.SequentialSampler", np.array, taken_rows)
ordered.value("float32-5x3", lambda inputs: [inputs.normal(5, 3)], tags=TAGS)
chosen = charted("torch.utils.data.SubsetRandomSampler", lambda values, rows: values[rows], taken_rows)
chosen.value("float32-one-row", lambda inputs: [inputs.normal(5, 3), [3]], tags=TAGS)


def rows_of_a_part(values: Array, num_replicas: int, rank: int, shuffle: bool, drop_last: bool = False) -> Array:
    """Return every ``num_replicas``-th row from ``rank`` on. To give all parts the same length, the first rows are
    repeated, or the last rows are dropped."""
    count = len(values) // num_replicas if drop_last else -(-len(values) // num_replicas)
    return values[np.arange(rank, count * num_replicas, num_replicas) % len(values)]


part = charted("torch.utils.data.DistributedSampler", rows_of_a_part, taken_rows)
for name, drop_last in {"completed": False, "dropped": True}.items():
    part.value(
        f"float32-second-of-two-{name}",
        lambda inputs: [inputs.normal(5, 3)],
        num_replicas=2,
        rank=1,
        shuffle=False,
        drop_last=drop_last,
        tags=TAGS,
    )


def shuffled_twice(context: Context, values: Any, **options: Any) -> Callable[[], Any]:
    """Prepare the rows, and the rows in the order of two samplers with the same seed."""
    import torch

    def call() -> Any:
        orders = []
        for _ in range(2):
            generator = torch.Generator().manual_seed(3)
            orders.append(values[list(context.function(values, generator=generator, **options))])
        return values, *orders

    return call


def each_row_once(observed: Any, *_: Any, **__: Any) -> None:
    """Check two orders of one seed: they are the same, differ from the order of the rows, and contain each row once."""
    rows, first, again = (leaf.values for leaf in observed)
    if not np.array_equal(first, again):
        raise Mismatch("the same seed gave another order")
    if np.array_equal(first, rows) or not np.array_equal(np.sort(first, 0), np.sort(rows, 0)):
        raise Mismatch(f"expected the rows {rows} in another order, got {first}")


charted("torch.utils.data.RandomSampler", prepare=shuffled_twice).behaviour(
    "float32-16x3",
    lambda inputs: [inputs.normal(16, 3)],
    each_row_once,
    tags=("by-hand", "form-only", "random", "plain", "quick"),
)


def copied_from_pinned_memory(context: Context, values: Any) -> Callable[[], Any]:
    host = values.cpu()
    return lambda: context.function(host).to(context.device, non_blocking=True)


def needs_another_device(context: Context) -> str | None:
    """Return the reason to skip the case; None to run the case. Torch pins memory only for its accelerator, and raises
    an error on a machine without an accelerator."""
    import torch

    accelerator = torch.accelerator.current_accelerator()
    is_accelerator = accelerator is not None and accelerator.type == context.device.type
    return None if is_accelerator else "torch pins the host's memory for what it calls an accelerator alone"


pinned = charted("torch.Tensor.pin_memory", np.array, copied_from_pinned_memory)
pinned.value("float32-3x4", lambda inputs: [inputs.normal(3, 4)], tags=TAGS)
pinned.cases[:] = [replace(case, not_applicable=needs_another_device) for case in pinned.cases]
