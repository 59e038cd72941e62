"""Cases of ``torch.utils.data``: data sets, and how their data get to the device.

``Dataset`` is charted as programs use it: through a ``DataLoader`` with pinned memory, and then on the device.
``ConcatDataset`` and ``Subset`` select among Python objects.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader, Subset, TensorDataset

from runners.suite.cases import Context, Function, Inputs
from runners.suite.checks import EXACT, Accepted

Array = np.ndarray[Any, Any]


def table(context: Context, *columns: Any) -> Any:
    """Return a data set of rows on the host. Its class is derived from the class under test."""

    class Table(context.function):  # type: ignore[misc, name-defined]
        def __len__(self) -> int:
            return len(columns[0])

        def __getitem__(self, row: int) -> Any:
            return columns[0][row] if len(columns) == 1 else tuple(column[row] for column in columns)

    return Table()


def on_host(columns: Sequence[Any]) -> list[Any]:
    return [column.cpu() for column in columns]


def loaded(context: Context, *columns: Any, **options: Any) -> Callable[[], Any]:
    """Prepare a call that moves every batch of the loader to the device."""
    loader = DataLoader(table(context, *on_host(columns)), **options)

    def call() -> Any:
        return [
            [
                tensor.to(context.device, non_blocking=True)
                for tensor in (batch if isinstance(batch, (list, tuple)) else [batch])
            ]
            for batch in loader
        ]

    return call


def loaded_from_sum(context: Context, one: Any, other: Any, **options: Any) -> Callable[[], Any]:
    """Prepare the batches of ``Dataset + Dataset``, which is their concatenation."""
    joined = table(context, one.cpu()) + table(context, other.cpu())
    loader = DataLoader(joined, **options)
    return lambda: [[batch.to(context.device)] for batch in loader]


def loaded_dictionaries(context: Context, features: Any, labels: Any, **options: Any) -> Callable[[], Any]:
    """Prepare the batches of samples that are dictionaries. Each batch is a dictionary, too."""
    features, labels = on_host((features, labels))

    class Named(context.function):  # type: ignore[misc, name-defined]
        def __len__(self) -> int:
            return len(labels)

        def __getitem__(self, row: int) -> dict[str, Any]:
            return {"features": features[row], "label": labels[row]}

    loader = DataLoader(Named(), **options)
    return lambda: [{name: tensor.to(context.device) for name, tensor in batch.items()} for batch in loader]


def batches(*columns: Array, batch_size: int, drop_last: bool = False, **_: Any) -> list[list[Array]]:
    length = len(columns[0])
    end = length - length % batch_size if drop_last else length
    return [[column[start : start + batch_size] for column in columns] for start in range(0, end, batch_size)]


def rows(count: int, width: int) -> Callable[[Inputs], Any]:
    return lambda inputs: (inputs.normal(count, width), inputs.integers(count))


dataset = Function(
    "torch.utils.data.Dataset",
    reference=batches,
    prepare=loaded,
)

dataset.value("pinned", rows(256, 128), tolerance=EXACT, batch_size=64, pin_memory=True)
dataset.value("pinned-float64", rows(10, 3), dtype="float64", tolerance=EXACT, batch_size=4, pin_memory=True)
dataset.value("pinned-bfloat16", rows(10, 3), dtype="bfloat16", tolerance=EXACT, batch_size=5, pin_memory=True)
dataset.value(
    "pinned-sum-of-two",
    lambda inputs: (inputs.normal(5, 3), inputs.normal(4, 3)),
    reference=lambda one, other, **options: batches(np.concatenate([one, other]), **options),
    prepare=loaded_from_sum,
    tolerance=EXACT,
    batch_size=4,
    pin_memory=True,
)
dataset.value(
    "pinned-dictionaries",
    rows(6, 3),
    reference=lambda features, labels, **options: [
        {"features": one, "label": other} for one, other in batches(features, labels, **options)
    ],
    prepare=loaded_dictionaries,
    tolerance=EXACT,
    batch_size=3,
    pin_memory=True,
)
dataset.value("not-pinned", rows(64, 32), tolerance=EXACT, batch_size=16)
dataset.value("last-batch-dropped", rows(10, 3), tolerance=EXACT, batch_size=4, drop_last=True, pin_memory=True)
dataset.value("one-row-a-batch", rows(3, 2), tolerance=EXACT, batch_size=1, pin_memory=True)
dataset.value(
    "booleans-and-bytes",
    lambda inputs: (inputs.booleans(6, 2), inputs.integers(6, low=0, high=255, dtype="uint8")),
    tolerance=EXACT,
    batch_size=4,
    pin_memory=True,
)


def shuffled(context: Context, numbers: Any, **options: Any) -> Callable[[], Any]:
    loader = DataLoader(table(context, numbers.cpu()), shuffle=True, **options)
    return lambda: [[batch.to(context.device) for batch in loader] for _ in range(2)]


def check_shuffled(observed: Any, numbers: Array, *, batch_size: int, **_: Any) -> None:
    epochs = [np.concatenate([batch.values for batch in epoch]) for epoch in observed]
    for epoch in epochs:
        assert np.array_equal(np.sort(epoch), numbers), "an epoch is not every row once"
    # By chance, 64 rows keep their order once in 10^89 epochs.
    assert not np.array_equal(epochs[0], epochs[1]), "two epochs came in the same order"
    assert not np.array_equal(epochs[0], numbers), "an epoch came unshuffled"
    assert {len(batch.values) for batch in observed[0]} == {batch_size}, "batches are not of the size asked for"


dataset.statistics(
    "shuffled",
    lambda inputs: (np.arange(64),),
    check_shuffled,
    prepare=shuffled,
    batch_size=16,
    pin_memory=True,
)


def pinning(context: Context, numbers: Any) -> Callable[[], Any]:
    """Prepare a test of whether each batch is pinned, and whether there is an accelerator for which to pin it."""
    loader = DataLoader(table(context, numbers.cpu()), batch_size=2, pin_memory=True)
    return lambda: ([batch.is_pinned() for batch in loader], torch.accelerator.is_available())


def check_pinning(observed: Any, *_: Array) -> None:
    pinned, accelerated = observed
    assert pinned == [accelerated] * 3, f"batches are pinned: {pinned}; there is an accelerator: {accelerated}"


dataset.behaviour("pinned-for-an-accelerator", lambda inputs: (inputs.normal(6),), check_pinning, prepare=pinning)


def unfinished(context: Context) -> Callable[[], Any]:
    class Unfinished(context.function):  # type: ignore[misc, name-defined]
        pass

    def call() -> str:
        try:
            Unfinished()[0]
        except NotImplementedError:
            return "NotImplementedError"
        return "no error"

    return call


def check_unfinished(observed: Any) -> None:
    if observed == "no error":
        raise Accepted("a data set without __getitem__ was read")
    assert observed == "NotImplementedError", f"reading a data set without __getitem__ gave {observed}"


dataset.behaviour("without-getitem", lambda inputs: (), check_unfinished, prepare=unfinished, refuses=True)


def chosen_rows(context: Context, column: Any, *, indices: Sequence[int]) -> Callable[[], Any]:
    def call() -> Any:
        subset = context.function(TensorDataset(column), indices)
        return len(subset), [subset[place][0] for place in range(len(subset))]

    return call


def rows_at_once(context: Context, column: Any, *, indices: Sequence[int], places: Sequence[int]) -> Callable[[], Any]:
    """Prepare a call of ``__getitems__``, with which a loader fetches a batch."""
    return lambda: [row[0] for row in context.function(TensorDataset(column), indices).__getitems__(list(places))]


def nested_rows(context: Context, column: Any, *, outer: Sequence[int], inner: Sequence[int]) -> Callable[[], Any]:
    def call() -> Any:
        subset = context.function(Subset(TensorDataset(column), outer), inner)
        return [subset[place][0] for place in range(len(subset))]

    return call


def subset_reference(column: Array, *, indices: Sequence[int]) -> tuple[int, list[Array]]:
    return len(indices), [column[index] for index in indices]


subset = Function(
    "torch.utils.data.Subset",
    reference=subset_reference,
    prepare=chosen_rows,
)

subset.value("rows", lambda inputs: (inputs.normal(128, 64),), indices=tuple(range(0, 128, 3)))
subset.value("repeated-and-reversed", lambda inputs: (inputs.normal(6, 2),), indices=(5, 5, 0, 3, 2))
subset.value("negative-index", lambda inputs: (inputs.normal(6, 2),), indices=(-1, -6))
subset.value("integers", lambda inputs: (inputs.integers(6),), dtype="int64", indices=(4, 2))
subset.value(
    "many-at-once",
    lambda inputs: (inputs.normal(8, 2),),
    reference=lambda column, *, indices, places: [column[indices[place]] for place in places],
    prepare=rows_at_once,
    indices=(7, 1, 4, 2),
    places=(3, 0),
)
subset.value(
    "subset-of-a-subset",
    lambda inputs: (inputs.normal(8, 2),),
    reference=lambda column, *, outer, inner: [column[outer[place]] for place in inner],
    prepare=nested_rows,
    outer=(7, 1, 4, 2),
    inner=(3, 0),
)


def joined_rows(context: Context, *columns: Any) -> Callable[[], Any]:
    def call() -> Any:
        joined = context.function([TensorDataset(column) for column in columns])
        return len(joined), [joined[place][0] for place in range(len(joined))]

    return call


def joined_row(context: Context, *columns: Any, place: int) -> Callable[[], Any]:
    return lambda: context.function([TensorDataset(column) for column in columns])[place][0]


def joined_reference(*columns: Array) -> tuple[int, list[Array]]:
    rows = [row for column in columns for row in column]
    return len(rows), rows


concatenation = Function(
    "torch.utils.data.ConcatDataset",
    reference=joined_reference,
    prepare=joined_rows,
)

concatenation.value("rows", lambda inputs: (inputs.normal(128, 64), inputs.normal(64, 64)))
concatenation.value("three-sets", lambda inputs: (inputs.normal(3, 2), inputs.normal(1, 2), inputs.normal(4, 2)))
concatenation.value("one-set", lambda inputs: (inputs.normal(4, 2),))
concatenation.value("empty-set-between", lambda inputs: (inputs.normal(2, 2), inputs.normal(0, 2), inputs.normal(3, 2)))
concatenation.value("integers", lambda inputs: (inputs.integers(3), inputs.integers(2)), dtype="int64")


def element(place: int) -> Callable[..., Array]:
    def reference(*columns: Array, **_: Any) -> Array:
        return np.asarray(np.concatenate(columns)[place])

    return reference


concatenation.value(
    "last-of-the-first",
    lambda inputs: (inputs.normal(3, 2), inputs.normal(4, 2)),
    reference=element(2),
    prepare=joined_row,
    place=2,
)
concatenation.value(
    "negative-place",
    lambda inputs: (inputs.normal(3, 2), inputs.normal(4, 2)),
    reference=element(-5),
    prepare=joined_row,
    place=-5,
)


def refused(context: Context, *columns: Any) -> Callable[[], Any]:
    """Prepare a call that returns the names of two errors: for an empty list of sets, and for an index before the first
    row."""

    def call() -> list[str]:
        errors = []
        for sets in ([], [TensorDataset(column) for column in columns]):
            try:
                context.function(sets)[-100]
            except (AssertionError, ValueError) as error:
                errors.append(type(error).__name__)
        return errors

    return call


def check_refused(observed: Any, *_: Array) -> None:
    # Fewer than two errors: torch made or read a concatenation that it should refuse.
    if len(observed) < 2:
        raise Accepted(f"a concatenation was made and read: the errors were {observed}")
    assert observed == ["AssertionError", "ValueError"], f"the errors were {observed}"


concatenation.behaviour(
    "refuses-nothing-and-too-far",
    lambda inputs: (inputs.normal(3, 2),),
    check_refused,
    prepare=refused,
    refuses=True,
)

FUNCTIONS: list[Function] = [dataset, subset, concatenation]
