"""Cases of data sets in random order: ``tf.data.experimental.shuffle_and_repeat``, judged by properties of every
order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from runners.suite.cases import Context, Function, Inputs
from runners.tensorflow.suites.paper.datasets import Array, expect, read, refused


def shuffled(
    context: Context, *, size: int, elements: int, buffer_size: int, times: int = 1, **options: Any
) -> Callable[[], Any]:
    """Prepare the elements of ``range(size)`` in random order. The pipeline is read ``times`` times."""

    def call() -> Any:
        dataset = tf.data.Dataset.range(size).apply(context.function(buffer_size, **options))
        return [read(dataset.batch(elements), 1) for _ in range(times)]

    return context.compiled(call)


def orders(observed: Any) -> list[Array]:
    return [batch["elements"][0].values for batch in observed]


def check_epochs(observed: Any, *, size: int, elements: int, buffer_size: int, count: int = -1, **_: Any) -> None:
    (order,) = orders(observed)
    assert len(order) == elements, f"{len(order)} elements came, not {elements}"
    assert observed[0]["elements"][0].dtype == "int64"
    for start in range(0, elements - size + 1, size):
        assert np.array_equal(np.sort(order[start : start + size]), np.arange(size)), (
            "an epoch is not every element once"
        )
    # A shuffle can move an element forward only within its buffer.
    early = np.arange(elements) % size - order
    assert early.min() > -buffer_size, "an element came earlier than its buffer allows"
    assert bool(observed[0]["more"].values) is (count == -1), "the end is not where it must be"


shuffle_and_repeat = Function("tf.data.experimental.shuffle_and_repeat", prepare=shuffled)


def nothing(_: Inputs) -> Any:
    return []


shuffle_and_repeat.statistics(
    "every-element-once-an-epoch", nothing, check_epochs, size=256, elements=1024, buffer_size=256, count=4
)
shuffle_and_repeat.statistics(
    "small-buffer-keeps-near", nothing, check_epochs, size=100, elements=200, buffer_size=5, count=2
)
shuffle_and_repeat.statistics("endless", nothing, check_epochs, size=64, elements=256, buffer_size=64)
shuffle_and_repeat.statistics(
    "endless-by-minus-one", nothing, check_epochs, size=8, elements=40, buffer_size=3, count=-1
)


def check_unsorted(observed: Any, *, size: int, **_: Any) -> None:
    (order,) = orders(observed)
    epochs = order.reshape(-1, size)
    # By chance, 64 elements keep their order once in 10^89 epochs.
    assert not np.array_equal(epochs[0], np.arange(size)), "an epoch came unshuffled"
    assert not np.array_equal(epochs[0], epochs[1]), "two epochs came in the same order"


shuffle_and_repeat.statistics(
    "another-order-each-epoch", nothing, check_unsorted, size=64, elements=128, buffer_size=64, count=2
)


def check_repeated(observed: Any, **_: Any) -> None:
    first, second = orders(observed)
    assert np.array_equal(first, second), "the same seed gave another order"
    assert not np.array_equal(first, np.sort(first)), "nothing was shuffled"


def seeded(context: Context, *, seeds: Sequence[int], size: int) -> Callable[[], Any]:
    """Prepare a pipeline for each seed, each read from its beginning."""

    def call() -> Any:
        pipelines = [tf.data.Dataset.range(size).apply(context.function(size, count=1, seed=seed)) for seed in seeds]
        return [read(pipeline.batch(size), 1) for pipeline in pipelines]

    return context.compiled(call)


def check_other(observed: Any, **_: Any) -> None:
    first, second = orders(observed)
    assert not np.array_equal(first, second), "another seed gave the same order"
    assert np.array_equal(np.sort(first), np.sort(second)), "another seed gave other elements"


shuffle_and_repeat.statistics("the-same-seed-repeats", nothing, check_repeated, prepare=seeded, seeds=(7, 7), size=64)
shuffle_and_repeat.statistics("another-seed-another-order", nothing, check_other, prepare=seeded, seeds=(7, 8), size=64)


def check_uniform(observed: Any, *, size: int, elements: int, **_: Any) -> None:
    (order,) = orders(observed)
    assert len(order) == elements, f"{len(order)} elements came, not {elements}"
    epochs = order.reshape(-1, size)
    expected = len(epochs) / size
    for place in (0, size // 2, size - 1):
        squared = ((np.bincount(epochs[:, place], minlength=size) - expected) ** 2 / expected).sum()
        # Chi squared with seven degrees of freedom exceeds 40 by chance once in a million times.
        assert squared < 40, f"place {place} of an epoch is not taken evenly: chi squared {squared:.1f}"


shuffle_and_repeat.statistics(
    "every-place-evenly", nothing, check_uniform, size=8, elements=4000, buffer_size=8, count=500
)
shuffle_and_repeat.behaviour(
    "buffer-of-one-keeps-the-order",
    nothing,
    lambda observed, *, size, **_: np.testing.assert_array_equal(orders(observed)[0], np.tile(np.arange(size), 2)),
    size=9,
    elements=18,
    buffer_size=1,
    count=2,
)
shuffle_and_repeat.behaviour(
    "refuses-no-buffer",
    nothing,
    expect("InvalidArgumentError"),
    prepare=refused(lambda context: tf.data.Dataset.range(4).apply(context.function(0))),
    refuses=True,
)

FUNCTIONS: list[Function] = [shuffle_and_repeat]
