"""Derivatives of public functions as ``GatedFunction`` objects, and samples of them, made from frozen cases."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import tensorflow as tf
from freezing.common import differences, limits
from freezing.common.agreement import Reference
from freezing.common.derivatives import LEAST_TOLERANCES
from freezing.common.differences import Array, weights_of
from freezing.common.gate import Arguments, GatedFunction
from freezing.common.parts import NOT_FINITE
from freezing.common.samples import Sample
from freezing.tensorflow.functions import PublicFunction
from freezing.tensorflow.references import flat, widen
from protocol.enums import GRADIENT
from runners.errors import UnfreezableError, UnjudgedError
from runners.suite.checks import TOLERANCES
from runners.suite.frozen import PackWriter, Slot, encode
from runners.suite.recording.replay import WAY, arrays_in
from runners.suite.rounding import rounded
from runners.suite.sequences import aligned
from runners.suite.trees import mapped
from runners.tensorflow.devices import Cpu
from runners.tensorflow.frozen import FrozenCall
from runners.tensorflow.ways import Way, gradient, second_order

DTYPE = "float32"
"""The dtype of most derivatives, and of the stored weights."""
LARGEST = 1e3
"""The largest input of a derivative by differences. At larger inputs a step is lost in the rounding of float64."""
AGREEMENT = 1e-5
"""The largest error of a second derivative by differences, relative to its largest element. A step across a kink gives
a larger one."""


@dataclass(frozen=True)
class DerivativeOrder:
    """A first or second derivative, and how it is called and judged."""

    name: str
    """The name of the way to call the function, and the end of a case's name."""
    way: Way
    tags: tuple[str, ...]
    differences: Callable[..., list[Array]]
    """Computes the derivatives of a loss by differences: ``differences(loss, inputs, *directions)``."""
    has_directions: bool = False
    at_limits: bool = False
    """Whether inputs may be NaN, infinite or large. Then only differences judge the derivative, because the backward
    pass in float64 handles these values in the same way."""
    is_by_definition: bool = False
    """Whether the backward pass in float64 also judges the derivative at these inputs, if it is written out. A tie or
    NaN has no derivative in mathematics, but TensorFlow defines one by the operations of the backward pass."""


FIRST = DerivativeOrder(GRADIENT, gradient, (GRADIENT,), differences.gradients)
SECOND = DerivativeOrder(
    "second-order", second_order, (GRADIENT, "second-order"), differences.second_order, has_directions=True
)
AT_LIMITS = DerivativeOrder(GRADIENT, gradient, (GRADIENT,), differences.gradients, at_limits=True)
"""The first derivative at infinity and at large values."""
BY_DEFINITION = DerivativeOrder(
    GRADIENT, gradient, (GRADIENT,), differences.gradients, at_limits=True, is_by_definition=True
)
"""The first derivative at NaN, and where several entries tie."""
OWN_KERNEL = re.compile(r"Grad|Backprop|TopK|Sort|Arg(Max|Min)|MaxPool")
"""Operations that choose one of several equal elements, or that are a whole backward pass. Each device has its own
kernel for them, and nothing defines what the kernel does at NaN or in a tie."""
ARITHMETIC = frozenset({"TanhGrad", "SigmoidGrad", "ReciprocalGrad", "InvGrad", "SqrtGrad", "RsqrtGrad"})
"""Operations with such a name that are one product."""
KINK = 1e-3
"""The least difference between the slopes on both sides of a kink."""
LOW_PRECISION = ("float16", "bfloat16")
SCALES = (32.0, 8.0, 2.0)
"""The factors of the weights in 16 bits, the best first. In small gradients, a relative error is within the absolute
tolerance. With a larger factor, the tolerance is smaller, and more gradients are not determined. As powers of two,
these factors change no rounding."""


class Derivative(GatedFunction):
    """The derivative of a public function. Its arguments are the parts of a written call."""

    def __init__(self, function: PublicFunction, order: DerivativeOrder) -> None:
        super().__init__(function.name, lambda *parts: order.way(function.call, *parts)(), Cpu())
        self._function = function
        self._order = order
        self.first_of_equals = function.first_of_equals

    def arguments(self, call: str, arrays: Sequence[Any]) -> Arguments:
        return FrozenCall(call).parts(arrays), {}

    def references(self, dtype: str, fresh: Callable[[], Arguments]) -> Iterator[tuple[str, Reference]]:
        """Yield differences if they can be computed, then float64.

        A second derivative is judged only by differences that agree with float64. If they do not agree, the function
        usually has a kink nearby.
        """
        inputs = _inputs_of(fresh()[0])
        if self._order.at_limits:
            if not self._order.is_by_definition:
                yield "differences", lambda: self.by_differences(widen(list(fresh()[0])))
                return
            yield "differences", lambda: self._by_same_differences(widen(list(fresh()[0])))
            if is_written_out(lambda: self.call(*fresh()[0])):
                yield "float64", lambda: self._in_float64(widen(list(fresh()[0])))
            return
        if (np.abs(inputs) <= LARGEST).all():
            if self._order.has_directions:
                yield "differences", lambda: self._by_agreeing_differences(widen(list(fresh()[0])), inputs.size)
            elif inputs.size <= differences.MOST_ELEMENTS:
                yield "differences", lambda: self.by_differences(widen(list(fresh()[0])))
        if not self._order.has_directions:
            yield "float64", lambda: self._in_float64(widen(list(fresh()[0])))

    def _in_float64(self, parts: Sequence[Any]) -> list[Any]:
        return flat(Cpu().to_host(self.call(*parts)))

    def has_kink(self, sample: Sample, pack: PackWriter) -> bool:
        parts = FrozenCall(sample.call).parts(_on_host(sample.arrays, sample.dtype, pack))
        return has_kink(self._function.call, widen(list(parts)))

    def by_differences(self, parts: Sequence[Any]) -> list[Any]:
        """Compute the derivatives by differences of the forward pass. ``parts`` are in float64."""
        if self._order.at_limits:
            return at_limits(self._function.call, parts)
        return by_differences(self._function.call, self._order, parts)

    def _by_same_differences(self, parts: Sequence[Any]) -> list[Any]:
        """Compute differences. If they differ from the backward pass, also only in NaN, TensorFlow defines the
        derivative in another way."""
        slopes = self.by_differences(parts)
        for slope, own in aligned(slopes, self._in_float64(parts)):
            if own is None or not np.allclose(slope, own, AGREEMENT, AGREEMENT, equal_nan=True):
                raise UnjudgedError("differences and the backward pass in float64 differ")
        return slopes

    def _by_agreeing_differences(self, parts: Sequence[Any], elements: int) -> list[Any]:
        """Compute differences of the forward pass. If it has many inputs, compute those of the gradients, which are
        fast."""
        is_small = elements <= differences.MOST_ELEMENTS
        slopes = self.by_differences(parts) if is_small else gradient_differences(self._function.call, parts)
        for slope, own in aligned(slopes, self._in_float64(parts)):
            own_slope = np.zeros(slope.shape) if own is None else own
            if not np.allclose(slope, own_slope, AGREEMENT, AGREEMENT * np.abs(slope).max(initial=1)):
                raise UnjudgedError("differences and the second derivative in float64 differ")
        return slopes


class DifferencesOnly(Derivative):
    """A derivative that is judged only by differences of the forward pass, also if the backward pass differs."""

    def references(self, dtype: str, fresh: Callable[[], Arguments]) -> Iterator[tuple[str, Reference]]:
        yield "differences", lambda: self.by_differences(widen(list(fresh()[0])))


def _inputs_of(parts: Sequence[Any]) -> Array:
    """Return the elements to differentiate by, in one array."""
    arrays = list(arrays_in(parts[:2], tf.Tensor))
    return np.concatenate([arrays[place].numpy().astype(np.float64).ravel() for place in parts[2]])


def gradient_differences(function: Callable[..., Any], parts: Sequence[Any]) -> list[Array]:
    """Return the second derivatives by differences of the first gradients. ``parts`` are in float64."""
    arguments, options, places, weighing, directions = parts
    arrays = list(arrays_in((arguments, options), tf.Tensor))

    def slopes(values: Sequence[Array]) -> list[Array]:
        positional, keywords = with_inputs(arguments, options, places, values)
        first = gradient(function, positional, keywords, places, weighing)()
        return [
            np.zeros(value.shape) if slope is None else slope.numpy() for value, slope in aligned(list(values), first)
        ]

    inputs = [arrays[place].numpy() for place in places]
    return differences.along(slopes, inputs, [direction.numpy() for direction in directions])


def with_inputs(arguments: Any, options: Any, places: Sequence[int], values: Sequence[Array]) -> Any:
    """Return the arguments and options with these values for the selected inputs."""
    tensors = list(arrays_in((arguments, options), tf.Tensor))
    for place, array in aligned(places, values):
        tensors[place] = tf.constant(array)
    remaining = iter(tensors)
    return mapped([arguments, options], lambda _: next(remaining), tf.Tensor)


def by_differences(function: Callable[..., Any], order: DerivativeOrder, parts: Sequence[Any]) -> list[Any]:
    """Return the derivatives with respect to each selected input by differences. ``parts`` are in float64."""
    loss, inputs = _loss_of(function, parts)
    return order.differences(loss, inputs, *([tensor.numpy() for tensor in own] for own in parts[4:]))


def _loss_of(function: Callable[..., Any], parts: Sequence[Any]) -> tuple[differences.Loss, list[Array]]:
    """Return the weighted sum of the results as a function of the selected inputs, and these inputs."""
    arguments, options, places, weighing = parts[:4]
    arrays = list(arrays_in((arguments, options), tf.Tensor))

    def loss(values: Sequence[Array]) -> float:
        positional, keywords = with_inputs(arguments, options, places, values)
        results = arrays_in(function(*positional, **keywords), tf.Tensor)
        return sum(
            float(tf.reduce_sum(tf.math.real(result * tf.cast(weight, result.dtype))))
            for result, weight in aligned(list(results), weighing)
            if weight is not None
        )

    return loss, [arrays[place].numpy() for place in places]


def at_limits(function: Callable[..., Any], parts: Sequence[Any]) -> list[Any]:
    """Return the gradients with respect to each selected input, also at NaN and infinity. ``parts`` are in float64."""
    arguments, options, places, weighing = parts
    arrays = list(arrays_in((arguments, options), tf.Tensor))

    def weigh(values: Sequence[Array]) -> list[Array]:
        positional, keywords = with_inputs(arguments, options, places, values)
        results = arrays_in(function(*positional, **keywords), tf.Tensor)
        return [
            tf.math.real(result * tf.cast(weight, result.dtype)).numpy()
            for result, weight in aligned(list(results), weighing)
            if weight is not None
        ]

    return limits.gradients(weigh, [arrays[place].numpy() for place in places])


def is_written_out(call: Callable[[], Any]) -> bool:
    """Whether a gradient is computed only by operations whose results are defined for NaN and for equal elements."""
    graph = tf.function(call, autograph=False).get_concrete_function().graph
    nodes = {operation.type for operation in graph.get_operations()}
    for function in graph.as_graph_def().library.function:
        nodes |= {node.op for node in function.node_def}
    return not any(OWN_KERNEL.search(node) for node in nodes - ARITHMETIC)


def has_kink(function: Callable[..., Any], parts: Sequence[Any]) -> bool:
    """Whether the slopes on both sides of an element differ. ``parts`` are in float64."""
    loss, inputs = _loss_of(function, parts)
    middle = loss(inputs)
    for place, array in enumerate(inputs):
        for index in np.ndindex(*array.shape):
            above, below = (limits.move(inputs, place, index, sign * differences.STEP) for sign in (1, -1))
            if abs(loss(above) + loss(below) - 2 * middle) > KINK * differences.STEP:
                return True
    return False


def sample_of(
    function: PublicFunction,
    case: Mapping[str, Any],
    order: DerivativeOrder,
    kinds: Sequence[str],
    pack: PackWriter,
    *,
    scale: float = 1,
) -> Sample:
    """Make the sample that differentiates a frozen case's call. Raise ``UnfreezableError`` if it has no derivative."""
    dtype = case["dtype"]
    arguments, options = FrozenCall(case["call"]).parts(_on_host(case["arrays"], dtype, pack))
    places, weighing = choose_weights(function.call, arguments, options)
    arrays = list(arrays_in((arguments, options), tf.Tensor))
    digests = list(case["arrays"])

    def slot(shape: tuple[int, ...]) -> Slot:
        digests.append(pack.add(scale * weights_of(shape), DTYPE))
        return Slot(len(digests) - 1)

    parts: list[Any] = [places, [None if shape is None else slot(shape) for shape in weighing]]
    if order.has_directions:
        parts.append([slot(tuple(arrays[place].shape)) for place in places])
    tree = {"tuple": [*json.loads(case["call"])["tuple"], *map(encode, parts)], WAY: order.name}
    text = json.dumps(tree, separators=(",", ":"))
    slopes = order.way(function.call, *FrozenCall(text).parts(_on_host(digests, dtype, pack)))()
    values = [slope.numpy().astype(np.float64) for slope in slopes if slope is not None]
    largest = max((float(np.max(np.abs(value), initial=0, where=np.isfinite(value))) for value in values), default=0)
    if largest <= _least(order, dtype) and not _has_nan(order, values):
        raise UnfreezableError("its gradient is zero" if largest == 0 else "its gradient is too small")
    if order.has_directions and not all(np.isfinite(value).all() for value in values):
        raise UnfreezableError(NOT_FINITE)
    elements = sum(int(tf.size(arrays[place])) for place in places)
    return Sample(f"{case['name']}-{order.name}", dtype, text, tuple(digests), (*kinds, *order.tags), elements)


def _least(order: DerivativeOrder, dtype: str) -> float:
    """Return the number that the largest derivative must exceed."""
    absolute = TOLERANCES[dtype].absolute
    # A second derivative is often zero except for rounding, and then it shows nothing.
    if order.has_directions:
        return absolute
    # A relative error of a small gradient is within the absolute tolerance, so nobody would notice it.
    return LEAST_TOLERANCES * absolute if order.at_limits or dtype != DTYPE else 0.0


def _has_nan(order: DerivativeOrder, values: Sequence[Array]) -> bool:
    shows_nan = order.is_by_definition or not order.at_limits
    return shows_nan and any(np.isnan(value).any() for value in values)


def _on_host(digests: Sequence[str], dtype: str, pack: PackWriter) -> Sequence[Any]:
    arrays: Sequence[Any] = Cpu().to_device(rounded([pack.array(digest) for digest in digests], dtype), dtype)
    return arrays


def choose_weights(
    function: Callable[..., Any], arguments: Sequence[Any], options: Mapping[str, Any]
) -> tuple[list[int], list[tuple[int, ...] | None]]:
    """Return the places of the arrays to differentiate by, and each result's shape, or None without a gradient."""
    arrays = list(arrays_in((arguments, options), tf.Tensor))
    floating = [place for place, tensor in enumerate(arrays) if tensor.dtype.is_floating]
    with tf.GradientTape(persistent=True) as tape:
        tape.watch([arrays[place] for place in floating])
        results = list(arrays_in(function(*arguments, **options), tf.Tensor))
    slopes = [
        tape.gradient(result, [arrays[place] for place in floating])
        if result.dtype.is_floating or result.dtype.is_complex
        else [None] * len(floating)
        for result in results
    ]
    places = [place for number, place in enumerate(floating) if any(own[number] is not None for own in slopes)]
    if not any(int(tf.size(arrays[place])) for place in places):
        raise UnfreezableError("nothing that it returns has a gradient")
    has_slope = [any(slope is not None for slope in own) for own in slopes]
    return places, [tuple(result.shape) if has else None for result, has in aligned(results, has_slope)]
