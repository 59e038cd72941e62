"""NumPy formulas of normalizations, for modules and for functions without a reference in torch's own tests.

The formulas of modules also return the running statistics after a pass in training mode. All formulas follow the
documentation and share no code with torch, so they are also references for NaN and infinity.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
FLOAT32_EPS = float(np.finfo(np.float32).eps)
"""The default of ``eps`` in ``rms_norm``: the machine epsilon of the input's dtype, which is float32 here."""


def batch_norm(
    input: Array,
    running_mean: Array | None,
    running_var: Array | None,
    weight: Array | None = None,
    bias: Array | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Array:
    if training:
        mean, variance = _statistics(input, _axes_but(input, 1))
    else:
        assert running_mean is not None
        assert running_var is not None
        mean, variance = (_along(values, input, 1) for values in (running_mean, running_var))
    return _scale_and_shift((input - mean) / np.sqrt(variance + eps), weight, bias)


def instance_norm(
    input: Array,
    running_mean: Array | None = None,
    running_var: Array | None = None,
    weight: Array | None = None,
    bias: Array | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Array:
    if not use_input_stats:
        return batch_norm(input, running_mean, running_var, weight, bias, eps=eps)
    mean, variance = _statistics(input, tuple(range(2, input.ndim)))
    return _scale_and_shift((input - mean) / np.sqrt(variance + eps), weight, bias)


def layer_norm(
    input: Array,
    normalized_shape: Sequence[int],
    weight: Array | None = None,
    bias: Array | None = None,
    eps: float = 1e-5,
) -> Array:
    mean, variance = _statistics(input, tuple(range(-len(normalized_shape), 0)))
    result = (input - mean) / np.sqrt(variance + eps) * (1 if weight is None else weight)
    return np.asarray(result + (0 if bias is None else bias))


def group_norm(
    input: Array, num_groups: int, weight: Array | None = None, bias: Array | None = None, eps: float = 1e-5
) -> Array:
    batch, channels, *sizes = input.shape
    groups = input.reshape(batch, num_groups, channels // num_groups, *sizes)
    mean, variance = _statistics(groups, tuple(range(2, groups.ndim)))
    return _scale_and_shift(((groups - mean) / np.sqrt(variance + eps)).reshape(input.shape), weight, bias)


def rms_norm(
    input: Array, normalized_shape: Sequence[int], weight: Array | None = None, eps: float | None = None
) -> Array:
    axes = tuple(range(-len(normalized_shape), 0))
    squares = np.mean(np.abs(input) ** 2, axes, keepdims=True)
    result = input / np.sqrt(squares + (FLOAT32_EPS if eps is None else eps))
    return np.asarray(result * (1 if weight is None else weight))


def local_response_norm(input: Array, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Array:
    """Divide each value by a power of the squares of neighboring channels. Missing channels count as zeros."""
    channels = input.shape[1]
    sums = [
        np.sum(input[:, max(0, place - size // 2) : place + (size - 1) // 2 + 1] ** 2, axis=1)
        for place in range(channels)
    ]
    squares = np.stack(sums, axis=1) if sums else np.zeros_like(input)
    return np.asarray(input / (k + alpha / size * squares) ** beta)


def normalize(input: Array, p: float = 2.0, dim: int | Sequence[int] = 1, eps: float = 1e-12) -> Array:
    magnitudes = np.abs(input)
    axes = dim if isinstance(dim, int) else tuple(dim)
    if np.isinf(p):
        norms = (np.max if p > 0 else np.min)(magnitudes, axis=axes, keepdims=True)
    elif p == 0:
        norms = np.sum(magnitudes != 0, axis=axes, keepdims=True)
    else:
        norms = np.sum(magnitudes**p, axis=axes, keepdims=True) ** (1 / p)
    return np.asarray(input / np.maximum(norms, eps))


FUNCTIONS: Mapping[str, Callable[..., Array]] = {
    "nn.functional.batch_norm": batch_norm,
    "nn.functional.instance_norm": instance_norm,
    "nn.functional.local_response_norm": local_response_norm,
    "nn.functional.normalize": normalize,
}
"""The formulas by operator. They exist only for operators for which torch's own tests have no reference."""


def batch_module(module: Any, state: Mapping[str, Array], input: Array) -> list[Array]:
    """Return the result of ``BatchNorm1d``, ``2d`` or ``3d``, followed by the buffers."""
    mean, variance = state.get("running_mean"), state.get("running_var")
    is_by_batch = module.training or mean is None
    affine = state.get("weight"), state.get("bias")
    result = batch_norm(input, mean, variance, *affine, training=is_by_batch, eps=module.eps)
    if mean is None or variance is None:
        return [result]
    count = state["num_batches_tracked"]
    if not module.training:
        return [result, mean, variance, count]
    # Without a momentum, all batches have the same weight.
    share = 1 / (int(count) + 1) if module.momentum is None else module.momentum
    own = [values.reshape(-1) for values in _statistics(input, _axes_but(input, 1), of_sample=True)]
    return [result, *_update((mean, variance), own, share), np.asarray(count + 1)]


def instance_module(module: Any, state: Mapping[str, Array], input: Array) -> list[Array]:
    """Return the result of ``InstanceNorm1d``, ``2d`` or ``3d``, followed by the buffers. These modules count no
    batches."""
    has_batch = input.ndim == module._get_no_batch_dim() + 1
    batch = input if has_batch else input[np.newaxis]
    statistics = state.get("running_mean"), state.get("running_var")
    uses_input = module.training or statistics[0] is None
    result = instance_norm(
        batch, *statistics, state.get("weight"), state.get("bias"), use_input_stats=uses_input, eps=module.eps
    )
    result = result if has_batch else result[0]
    if statistics[0] is None:
        return [result]
    new_statistics: Sequence[Any] = statistics
    if module.training:
        own = _statistics(batch, tuple(range(2, batch.ndim)), of_sample=True)
        means = [np.mean(values.reshape(batch.shape[:2]), axis=0) for values in own]
        new_statistics = _update(statistics, means, 0.0 if module.momentum is None else module.momentum)
    return [result, *new_statistics, state["num_batches_tracked"]]


def layer_module(module: Any, state: Mapping[str, Array], input: Array) -> list[Array]:
    return [layer_norm(input, module.normalized_shape, state.get("weight"), state.get("bias"), module.eps)]


def group_module(module: Any, state: Mapping[str, Array], input: Array) -> list[Array]:
    return [group_norm(input, module.num_groups, state.get("weight"), state.get("bias"), module.eps)]


def rms_module(module: Any, state: Mapping[str, Array], input: Array) -> list[Array]:
    return [rms_norm(input, module.normalized_shape, state.get("weight"), module.eps)]


def response_module(module: Any, state: Mapping[str, Array], input: Array) -> list[Array]:
    return [local_response_norm(input, module.size, module.alpha, module.beta, module.k)]


MODULES: Mapping[str, Callable[..., list[Array]]] = {
    **dict.fromkeys(("BatchNorm1d", "BatchNorm2d", "BatchNorm3d"), batch_module),
    **dict.fromkeys(("InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d"), instance_module),
    "LayerNorm": layer_module,
    "GroupNorm": group_module,
    "RMSNorm": rms_module,
    "LocalResponseNorm": response_module,
}
"""Maps each class to its formula. The formula gets the module (only for its settings), its state and its input."""


def _statistics(values: Array, axes: tuple[int, ...], *, of_sample: bool = False) -> tuple[Array, Array]:
    """Return the mean and the variance over these axes, which keep length 1. Both are NaN without elements."""
    count = int(np.prod([values.shape[axis] for axis in axes]))
    mean = np.sum(values, axes, keepdims=True) / count
    return mean, np.sum((values - mean) ** 2, axes, keepdims=True) / max(count - int(of_sample), 0)


def _update(before: Sequence[Any], of_batch: Sequence[Array], share: float) -> list[Array]:
    """Return the running statistics after a batch. ``share`` is the weight of the batch."""
    return [np.asarray((1 - share) * old + share * new) for old, new in zip(before, of_batch)]


def _scale_and_shift(normalized_values: Array, weight: Array | None, bias: Array | None) -> Array:
    factor = 1 if weight is None else _along(weight, normalized_values, 1)
    return np.asarray(normalized_values * factor + (0 if bias is None else _along(bias, normalized_values, 1)))


def _along(values: Array, array: Array, axis: int) -> Array:
    """Reshape values so that they are broadcast along one axis of an array."""
    return values.reshape([-1 if place == axis else 1 for place in range(array.ndim)])


def _axes_but(array: Array, axis: int) -> tuple[int, ...]:
    return tuple(place for place in range(array.ndim) if place != axis)
