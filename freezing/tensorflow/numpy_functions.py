"""Find NumPy's or SciPy's counterpart of a TensorFlow function by its name: references independent of TensorFlow.

Names are compared in lowercase, without underscores and versions. The table has the counterparts with other names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import scipy.fft
import scipy.linalg
import scipy.signal
import scipy.special

from runners.tensorflow.left_open import normalised

_HOMES = (np, scipy.special, np.linalg, np.fft, scipy.fft, scipy.linalg)


def _selu(x: Any) -> Any:
    alpha, scale = 1.6732632423543772, 1.0507009873554805
    return scale * np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))


def _no_nan(operation: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Return an operation that gives 0 where its second operand is 0."""
    return lambda x, y: np.where(
        np.broadcast_to(y, np.broadcast_shapes(np.shape(x), np.shape(y))) == 0, 0, operation(x, y)
    )


def _window(name: str) -> Callable[..., Any]:
    def window(window_length: int, periodic: bool = True) -> Any:
        return scipy.signal.get_window(name, window_length, fftbins=periodic)

    return window


def _mean(loss: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda y_true, y_pred: np.mean(loss(y_true, y_pred), axis=-1)


def _log_cosh(y_true: Any, y_pred: Any) -> Any:
    return np.log(np.cosh(y_pred - y_true))


def _cross_entropy(labels: Any, logits: Any) -> Any:
    return -(labels * scipy.special.log_softmax(logits, axis=-1)).sum(axis=-1)


def _one_hot(indices: Any, depth: int) -> Any:
    return np.eye(depth)[indices]


def _set_places(tensor: Any, indices: Any, updates: Any, by: np.ufunc | None) -> Any:
    result = np.array(tensor)
    places = tuple(np.moveaxis(indices, -1, 0))
    if by is None:
        result[places] = updates
    else:
        by.at(result, places, updates)
    return result


def _scatter(indices: Any, updates: Any, shape: Any) -> Any:
    return _set_places(np.zeros(shape, updates.dtype), indices, updates, np.add)


def _segments(by: np.ufunc, start: float) -> Callable[..., Any]:
    def reduce_segments(data: Any, segment_ids: Any, num_segments: int | None = None) -> Any:
        count = int(num_segments if num_segments is not None else segment_ids.max(initial=-1) + 1)
        result = np.full((count, *data.shape[1:]), start, data.dtype)
        by.at(result, segment_ids, data)
        return result

    return reduce_segments


TABLE: Mapping[str, Callable[..., Any]] = {
    "realdiv": np.divide,
    "div": np.divide,
    "truncatediv": lambda x, y: np.trunc(x / y),
    "truncatemod": np.fmod,
    "floormod": np.mod,
    "floordiv": np.floor_divide,
    "mul": np.multiply,
    "sub": np.subtract,
    "neg": np.negative,
    "addn": lambda inputs: sum(inputs),
    "accumulaten": lambda inputs: sum(inputs),
    "inv": np.reciprocal,
    "reciprocalnonan": lambda x: np.where(x == 0, 0, 1 / x),
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "dividenonan": _no_nan(np.divide),
    "divnonan": _no_nan(np.divide),
    "multiplynonan": _no_nan(np.multiply),
    "mulnonan": _no_nan(np.multiply),
    "xdivy": lambda x, y: np.where(x == 0, 0, x / y),
    "squareddifference": lambda x, y: (x - y) * np.conj(x - y),
    "scalarmul": np.multiply,
    "invert": np.invert,
    "variance": np.var,
    "reducevariance": np.var,
    "stddev": np.std,
    "euclideannorm": lambda x, axis=None, keepdims=False: np.sqrt(np.sum(np.abs(x) ** 2, axis=axis, keepdims=keepdims)),
    "lgamma": scipy.special.gammaln,
    "digamma": scipy.special.psi,
    "igamma": scipy.special.gammainc,
    "igammac": scipy.special.gammaincc,
    "lbeta": lambda x: np.sum(scipy.special.gammaln(x), -1) - scipy.special.gammaln(np.sum(x, -1)),
    "expint": scipy.special.expi,
    "fresnelcos": lambda x: scipy.special.fresnel(x)[1],
    "fresnelsin": lambda x: scipy.special.fresnel(x)[0],
    "dawsn": scipy.special.dawsn,
    **{f"bessel{kind}": getattr(scipy.special, kind) for kind in ("i0", "i0e", "i1", "i1e", "j0", "j1", "k0", "k0e")},
    **{f"bessel{kind}": getattr(scipy.special, kind) for kind in ("k1", "k1e", "y0", "y1")},
    "sigmoid": scipy.special.expit,
    "logsigmoid": scipy.special.log_expit,
    "softplus": lambda x: np.logaddexp(x, 0),
    "softsign": lambda x: x / (1 + np.abs(x)),
    "relu": lambda x: np.maximum(x, 0),
    "relu6": lambda x: np.clip(x, 0, 6),
    "elu": lambda x, alpha=1.0: np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0))),
    "selu": _selu,
    "silu": lambda x, beta=1.0: x * scipy.special.expit(beta * x),
    "swish": lambda x: x * scipy.special.expit(x),
    "mish": lambda x: x * np.tanh(np.logaddexp(x, 0)),
    "gelu": lambda x: x * scipy.special.ndtr(x),
    "hardtanh": lambda x: np.clip(x, -1, 1),
    "hardsigmoid": lambda x: np.clip(x / 6 + 0.5, 0, 1),
    "hardsilu": lambda x: x * np.clip(x / 6 + 0.5, 0, 1),
    "leakyrelu": lambda x, alpha=0.2: np.where(x > 0, x, alpha * x),
    "softmax": lambda x, axis=-1: scipy.special.softmax(x, axis=axis),
    "logsoftmax": lambda x, axis=-1: scipy.special.log_softmax(x, axis=axis),
    "tanhshrink": lambda x: x - np.tanh(x),
    "l2loss": lambda t: np.sum(t * t) / 2,
    "zerofraction": lambda value: np.mean(value == 0),
    "biasadd": np.add,
    "clipbyvalue": np.clip,
    "concat": lambda values, axis=0: np.concatenate(values, axis=axis),
    "pack": np.stack,
    "reverse": lambda x, axis: np.flip(x, axis),
    "identity": lambda x: x,
    "stopgradient": lambda x: x,
    "snapshot": lambda x: x,
    "deepcopy": lambda x: np.array(x),
    "converttotensor": lambda x: x,
    "pad": lambda x, paddings, mode="constant": np.pad(x, paddings, mode=mode.lower()),
    "mirrorpad": lambda x, paddings, mode: np.pad(x, paddings, mode=mode.lower()),
    "matrixinverse": np.linalg.inv,
    "matrixdeterminant": np.linalg.det,
    "logmatrixdeterminant": np.linalg.slogdet,
    "logdet": lambda x: np.linalg.slogdet(x)[1],
    "matrixsolve": np.linalg.solve,
    "batchmatmul": np.matmul,
    "matvec": lambda a, b: np.matvec(a, b),
    "adjoint": lambda x: np.conj(np.swapaxes(x, -1, -2)),
    "matrixtranspose": lambda x: np.swapaxes(x, -1, -2),
    "matrixexponential": scipy.linalg.expm,
    "conjugatetranspose": lambda x, perm: np.conj(np.transpose(x, perm)),
    "selfadjointeigvals": np.linalg.eigvalsh,
    "tensordiag": lambda x: np.diag(x),
    "tensordiagpart": lambda x: np.diagonal(x),
    "diagpart": lambda x: np.diagonal(x, axis1=-2, axis2=-1),
    "matrixdiagpart": lambda x: np.diagonal(x, axis1=-2, axis2=-1),
    "trace": lambda x: np.trace(x, axis1=-2, axis2=-1),
    "gather": lambda params, indices, axis=0: np.take(params, indices, axis=axis),
    "gathernd": lambda params, indices: params[tuple(np.moveaxis(indices, -1, 0))],
    "takealongaxis": np.take_along_axis,
    "scatternd": _scatter,
    "scatter": _scatter,
    **{
        f"{prefix}{own}": (lambda tensor, indices, updates, by=by: _set_places(tensor, indices, updates, by))
        for own, by in (
            ("add", np.add), ("sub", np.subtract), ("max", np.maximum), ("min", np.minimum), ("update", None),
        )
        for prefix in ("tensorscatter", "tensorscatternd")
    },
    **{
        f"{prefix}segment{own}": _segments(by, start)
        for own, by, start in (("sum", np.add, 0), ("prod", np.multiply, 1))
        for prefix in ("", "unsorted")
    },
    "onehot": _one_hot,
    "tocategorical": _one_hot,
    "select": np.where,
    "fill": np.full,
    "range": np.arange,
    "broadcastto": np.broadcast_to,
    "expanddims": lambda x, axis: np.expand_dims(x, axis),
    "size": np.size,
    "rank": np.ndim,
    "shape": np.shape,
    "invertpermutation": np.argsort,
    "fft2d": np.fft.fft2,
    "ifft2d": np.fft.ifft2,
    "fft3d": lambda x: np.fft.fftn(x, axes=(-3, -2, -1)),
    "ifft3d": lambda x: np.fft.ifftn(x, axes=(-3, -2, -1)),
    "rfft2d": np.fft.rfft2,
    "irfft2d": np.fft.irfft2,
    "rfft3d": lambda x: np.fft.rfftn(x, axes=(-3, -2, -1)),
    "irfft3d": lambda x: np.fft.irfftn(x, axes=(-3, -2, -1)),
    "hannwindow": _window("hann"),
    "hammingwindow": _window("hamming"),
    "kaiserwindow": lambda window_length, beta=12.0: np.kaiser(window_length, beta),
    "leftshift": np.left_shift,
    "rightshift": np.right_shift,
    "mse": _mean(lambda a, b: (a - b) ** 2),
    "meansquarederror": _mean(lambda a, b: (a - b) ** 2),
    "mae": _mean(lambda a, b: np.abs(a - b)),
    "meanabsoluteerror": _mean(lambda a, b: np.abs(a - b)),
    "logcosh": _mean(_log_cosh),
    "hinge": _mean(lambda a, b: np.maximum(1 - a * b, 0)),
    "squaredhinge": _mean(lambda a, b: np.maximum(1 - a * b, 0) ** 2),
    "poisson": _mean(lambda a, b: b - a * np.log(b + 1e-7)),
    "softmaxcrossentropywithlogits": _cross_entropy,
    "sigmoidcrossentropywithlogits": lambda labels, logits: np.logaddexp(0, logits) - logits * labels,
    "logpoissonloss": lambda targets, log_input: np.exp(log_input) - log_input * targets,
    "psnr": lambda a, b, peak: 10 * np.log10(peak**2 / np.mean((a - b) ** 2, axis=(-3, -2, -1))),
    "flipleftright": lambda image: np.flip(image, -2),
    "flipupdown": lambda image: np.flip(image, -3),
    "adjustbrightness": np.add,
    "totalvariation": lambda x: sum(np.abs(np.diff(x, axis=axis)).sum((-3, -2, -1)) for axis in (-3, -2)),
    "complex": lambda real, imag: real + 1j * imag,
    "complexabs": np.abs,
    "angle": np.angle,
    "polar": lambda size, angle: size * np.exp(1j * angle),
    "stack": np.stack,
    "wherev": np.argwhere,
    "bucketize": lambda x, boundaries: np.digitize(x, boundaries),
    "searchsorted": np.searchsorted,
    "lowerbound": np.searchsorted,
    "linspace": np.linspace,
    "normalize": lambda x: x / np.linalg.norm(x),
    "tensordot": np.tensordot,
}  # fmt: skip


def counterparts(name: str) -> Iterator[Callable[..., Any]]:
    """Yield the functions of NumPy and SciPy that may do the same, the most likely first."""
    own = normalised(name)
    for word in dict.fromkeys((own, own.removeprefix("reduce"), own.removeprefix("batch"))):
        if word in TABLE:
            yield TABLE[word]
        for home in _HOMES:
            for counterpart_name in vars(home):
                if counterpart_name.replace("_", "").lower() == word and callable(getattr(home, counterpart_name)):
                    yield getattr(home, counterpart_name)
