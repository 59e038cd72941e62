"""Formulas in NumPy for functions that TensorFlow computes only in float32, written from the functions' definitions.

The parameters of a formula have TensorFlow's names. Arrays are in float64.
"""

from __future__ import annotations

import colorsys
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import scipy.optimize
import scipy.special

from runners.suite.sequences import aligned
from runners.tensorflow.left_open import normalised

Array = np.ndarray[Any, Any]
_sigmoid = scipy.special.expit


def in_top_k(targets: Array, predictions: Array, k: int) -> Array:
    """Return for each row whether fewer than ``k`` classes have a higher score than the right class."""
    own = np.take_along_axis(predictions, targets[..., None].astype(np.int64), -1)
    return np.asarray((predictions > own).sum(axis=-1) < k)


def sparse_top_k_accuracy(y_true: Array, y_pred: Array, k: int = 5) -> Array:
    return in_top_k(y_true.reshape(y_pred.shape[:-1]), y_pred, k).astype(np.float64)


def top_k_accuracy(y_true: Array, y_pred: Array, k: int = 5) -> Array:
    return sparse_top_k_accuracy(np.argmax(y_true, axis=-1), y_pred, k)


def histogram_bins(values: Array, value_range: Sequence[float], nbins: int = 100) -> Array:
    low, high = value_range
    return np.clip(np.floor((values - low) / (high - low) * nbins), 0, nbins - 1)


def crop_and_resize(
    image: Array, boxes: Array, box_indices: Array, crop_size: Sequence[int], method: str = "bilinear",
    extrapolation_value: float = 0.0,
) -> Array:  # fmt: skip
    """Sample each box at evenly spaced points. The corners of the image are 0 and 1, and points outside get
    ``extrapolation_value``."""
    last = np.array(image.shape[1:3]) - 1
    crops = np.full((len(boxes), *map(int, crop_size), image.shape[3]), float(extrapolation_value))
    for number, (box, index) in enumerate(aligned(boxes, box_indices)):
        for cell in np.ndindex(*crops.shape[1:3]):
            at = [
                low * end + place * (high - low) * end / (size - 1) if size > 1 else (low + high) * end / 2
                for low, high, end, place, size in zip(box[:2], box[2:], last, cell, crops.shape[1:3])
            ]
            if all(0 <= place <= end for place, end in zip(at, last)):
                crops[(number, *cell)] = _sample(image[index], at, method)
    return crops


def _sample(image: Array, at: Sequence[float], method: str) -> Array:
    """Return the image's value at a point inside of it."""
    if method == "nearest":
        row, column = (int(np.floor(place + 0.5)) for place in at)
        return np.asarray(image[row, column])
    (row, column), (down, right) = np.floor(at).astype(int), np.mod(at, 1)
    below, beside = min(row + 1, image.shape[0] - 1), min(column + 1, image.shape[1] - 1)
    upper = image[row, column] * (1 - right) + image[row, beside] * right
    lower = image[below, column] * (1 - right) + image[below, beside] * right
    return np.asarray(upper * (1 - down) + lower * down)


def overlap(one: Array, other: Array) -> float:
    """Return the area of two boxes' intersection divided by the area of their union."""
    lows = [np.minimum(box[:2], box[2:]) for box in (one, other)]
    highs = [np.maximum(box[:2], box[2:]) for box in (one, other)]
    areas = [float(np.prod(high - low)) for low, high in aligned(lows, highs)]
    if min(areas) <= 0:
        return 0.0
    shared_area = float(np.prod(np.maximum(np.minimum(*highs) - np.maximum(*lows), 0)))
    return shared_area / (sum(areas) - shared_area)


def _choose(overlaps: Array, scores: Array, most: int, threshold: float, least_score: float) -> Array:
    """Choose boxes by descending score. Skip a box that overlaps too much with a chosen one."""
    places: list[int] = []
    for place in np.argsort(-scores, kind="stable"):
        if len(places) < most and scores[place] > least_score and all(overlaps[place, places] <= threshold):
            places.append(int(place))
    return np.array(places, np.int32)


def _overlaps(boxes: Array) -> Array:
    return np.array([[overlap(one, other) for other in boxes] for one in boxes]).reshape(len(boxes), len(boxes))


def non_max_suppression(
    boxes: Array, scores: Array, max_output_size: int, iou_threshold: float = 0.5, score_threshold: float = -np.inf
) -> Array:
    return _choose(_overlaps(boxes), scores, int(max_output_size), float(iou_threshold), float(score_threshold))


def non_max_suppression_by_overlaps(
    overlaps: Array, scores: Array, max_output_size: int, overlap_threshold: float = 0.5,
    score_threshold: float = -np.inf,
) -> Array:  # fmt: skip
    return _choose(overlaps, scores, int(max_output_size), float(overlap_threshold), float(score_threshold))


def non_max_suppression_padded(boxes: Array, scores: Array, max_output_size: int, **limits: Any) -> list[Any]:
    places = non_max_suppression(boxes, scores, max_output_size, **limits)
    return [places, len(places)]


def non_max_suppression_with_scores(
    boxes: Array, scores: Array, max_output_size: int, soft_nms_sigma: float = 0.0, **limits: Any
) -> list[Any]:
    if soft_nms_sigma:
        raise NotImplementedError("no formula for soft suppression, which lowers scores")
    places = non_max_suppression(boxes, scores, max_output_size, **limits)
    return [places, scores[places]]


def non_max_suppression_counted(boxes: Array, scores: Array, **options: Any) -> list[Any]:
    places, scores_kept = non_max_suppression_with_scores(boxes, scores, **options)
    return [places, scores_kept, len(places)]


def combined_non_max_suppression(
    boxes: Array, scores: Array, max_output_size_per_class: int, max_total_size: int, iou_threshold: float = 0.5,
    score_threshold: float = -np.inf,
) -> list[Any]:  # fmt: skip
    """Choose boxes in each class, then the best of all. Clip them to the image. Fill missing boxes with zeros."""
    batch, total = len(boxes), int(max_total_size)
    own_boxes, own_scores = np.zeros((batch, total, 4)), np.zeros((batch, total))
    classes, counts = np.zeros((batch, total)), np.zeros(batch, np.int32)
    for image in range(batch):
        boxes_of_image = []
        for label in range(scores.shape[2]):
            own = boxes[image, :, min(label, boxes.shape[2] - 1)]
            scores_of_label = scores[image, :, label]
            for place in non_max_suppression(
                own, scores_of_label, max_output_size_per_class, float(iou_threshold), float(score_threshold)
            ):
                boxes_of_image.append((scores_of_label[place], label, np.clip(own[place], 0, 1)))
        best = sorted(boxes_of_image, key=lambda one: -one[0])[:total]
        counts[image] = len(best)
        for place, (score, label, box) in enumerate(best):
            own_boxes[image, place], own_scores[image, place], classes[image, place] = box, score, label
    return [own_boxes, own_scores, classes, counts]


def _windows(
    shape: Sequence[int], ksize: Sequence[int], strides: Sequence[int], padding: str
) -> tuple[tuple[int, ...], Iterator[tuple[tuple[int, ...], tuple[slice, ...]]]]:
    """Return the shape of a pooling's result, and the window of each element of the result: slices of the input
    without the padding."""
    before, counts = [], []
    for size, width, step in zip(shape, ksize, strides):
        count = -(-size // step) if padding == "SAME" else (size - width) // step + 1
        total = max((count - 1) * step + width - size, 0) if padding == "SAME" else 0
        before.append(total // 2)
        counts.append(count)

    def slices() -> Iterator[tuple[tuple[int, ...], tuple[slice, ...]]]:
        for place in np.ndindex(*counts):
            starts = [at * step - pad for at, step, pad in zip(place, strides, before)]
            yield (
                place,
                tuple(
                    slice(max(start, 0), min(start + width, size)) for start, width, size in zip(starts, ksize, shape)
                ),
            )

    return tuple(counts), slices()


def _pool(reduce: Callable[[Array], Any]) -> Callable[..., Array]:
    def pool(input: Array, ksize: Any, strides: Any, padding: str) -> Array:
        shape, windows = _windows(input.shape, ksize, strides, padding)
        result = np.zeros(shape)
        for place, window in windows:
            result[place] = reduce(input[window])
        return result

    return pool


def average_pool_back(orig_input_shape: Array, grad: Array, ksize: Any, strides: Any, padding: str) -> Array:
    """Distribute each gradient equally over the elements of its window."""
    result = np.zeros([int(size) for size in orig_input_shape])
    for place, window in _windows(result.shape, ksize, strides, padding)[1]:
        result[window] += grad[place] / result[window].size
    return result


def ctc_loss(
    labels: Array, logits: Array, label_length: Array, logit_length: Array, logits_time_major: bool = True,
    blank_index: int | None = None,
) -> Array:  # fmt: skip
    """Return the negative log probability of all paths that spell the labels, by the forward algorithm."""
    scores = scipy.special.log_softmax(logits if not logits_time_major else np.swapaxes(logits, 0, 1), axis=-1)
    blank = blank_index or 0
    losses = []
    for own, row, length, steps in zip(scores, labels, label_length, logit_length):
        path = [blank]
        for label in row[:length]:
            path += [int(label), blank]
        log_sums = np.full(len(path), -np.inf)
        log_sums[:2] = own[0, path[:2]]
        for step in range(1, int(steps)):
            before = log_sums.copy()
            for place, label in enumerate(path):
                ways = [before[place], *before[max(place - 1, 0) : place]]
                if place > 1 and label != blank and label != path[place - 2]:
                    ways.append(before[place - 2])
                log_sums[place] = np.logaddexp.reduce(ways) + own[step, label]
        losses.append(-np.logaddexp.reduce(log_sums[-2:]))
    return np.array(losses)


def _responses(image: Array, depth_radius: int, bias: float, alpha: float) -> Array:
    depth = image.shape[-1]
    sums = [
        (image[..., max(place - depth_radius, 0) : place + depth_radius + 1] ** 2).sum(axis=-1)
        for place in range(depth)
    ]
    return bias + alpha * np.stack(sums, axis=-1)


def local_response(
    input: Array, depth_radius: int = 5, bias: float = 1.0, alpha: float = 1.0, beta: float = 0.5
) -> Array:
    return np.asarray(input / _responses(input, depth_radius, bias, alpha) ** beta)


def local_response_back(
    input_grads: Array, input_image: Array, output_image: Array, depth_radius: int = 5, bias: float = 1.0,
    alpha: float = 1.0, beta: float = 0.5,
) -> Array:  # fmt: skip
    norms = _responses(input_image, depth_radius, bias, alpha)
    shares = input_grads * output_image / norms
    sums = [
        shares[..., max(place - depth_radius, 0) : place + depth_radius + 1].sum(axis=-1)
        for place in range(input_image.shape[-1])
    ]
    return np.asarray(input_grads / norms**beta - 2 * alpha * beta * input_image * np.stack(sums, axis=-1))


def _steps(low: Any, high: Any, num_bits: int, narrow_range: bool) -> tuple[Any, Any, Any]:
    """Return the limits of the quantized range, shifted so that it contains zero exactly, and the step size."""
    least, most = float(narrow_range), 2.0**num_bits - 1
    scale = (high - low) / (most - least)
    zero = np.clip(np.floor(least - low / scale + 0.5), least, most)
    return (least - zero) * scale, (most - zero) * scale, scale


def fake_quant(inputs: Array, min: Any, max: Any, num_bits: int = 8, narrow_range: bool = False) -> Array:
    low, high, scale = _steps(min, max, num_bits, narrow_range)
    return np.asarray(np.floor((np.clip(inputs, low, high) - low) / scale + 0.5) * scale + low)


def fake_quant_back(
    gradients: Array, inputs: Array, min: Any = -6.0, max: Any = 6.0, num_bits: int = 8, narrow_range: bool = False
) -> Array:
    low, high, _ = _steps(min, max, num_bits, narrow_range)
    return np.where((inputs >= low) & (inputs <= high), gradients, 0)


def _fake_quant_back_with_limits(axes: tuple[int, ...] | None) -> Callable[..., list[Array]]:
    def slopes(
        gradients: Array, inputs: Array, min: Any, max: Any, num_bits: int = 8, narrow_range: bool = False
    ) -> list[Array]:
        low, high, _ = _steps(min, max, num_bits, narrow_range)
        over = tuple(range(inputs.ndim)) if axes is None else tuple(range(inputs.ndim - 1))
        return [
            fake_quant_back(gradients, inputs, min, max, num_bits, narrow_range),
            np.where(inputs < low, gradients, 0).sum(axis=over),
            np.where(inputs > high, gradients, 0).sum(axis=over),
        ]

    return slopes


def adjust_contrast(images: Array, contrast_factor: float) -> Array:
    mean = images.mean(axis=(-3, -2), keepdims=True)
    return np.asarray((images - mean) * contrast_factor + mean)


def _in_colors(change: Callable[[float, float, float, float], tuple[float, float, float]]) -> Callable[..., Array]:
    """Make a function of images from a change of one pixel's hue, saturation and value."""

    def change_colors(images: Array, **options: Any) -> Array:
        (amount,) = options.values()
        pixels = [
            colorsys.hsv_to_rgb(*change(*colorsys.rgb_to_hsv(*pixel), float(amount)))
            for pixel in images.reshape(-1, 3).tolist()
        ]
        return np.array(pixels).reshape(images.shape)

    return change_colors


def spectrogram(input: Array, window_size: int, stride: int, magnitude_squared: bool = False) -> Array:
    """Multiply each frame by a periodic Hann window, and transform it with the next power of two as its length."""
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(window_size) / window_size)
    starts = range(0, len(input) - window_size + 1, stride)
    frames = np.stack([input[start : start + window_size].T * window for start in starts], axis=1)
    sizes = np.abs(np.fft.rfft(frames, 2 ** int(np.ceil(np.log2(window_size)))))
    return np.asarray(sizes**2 if magnitude_squared else sizes)


def gru_cell(x: Array, h_prev: Array, w_ru: Array, w_c: Array, b_ru: Array, b_c: Array) -> list[Array]:
    reset, update = np.split(_sigmoid(np.concatenate([x, h_prev], 1) @ w_ru + b_ru), 2, axis=1)
    candidate = np.tanh(np.concatenate([x, reset * h_prev], 1) @ w_c + b_c)
    return [reset, update, candidate, update * h_prev + (1 - update) * candidate]


def lstm_cell(
    x: Array, cs_prev: Array, h_prev: Array, w: Array, wci: Array, wcf: Array, wco: Array, b: Array,
    forget_bias: float = 1.0, cell_clip: float = 3.0, use_peephole: bool = False, order: Sequence[int] = (0, 1, 2, 3),
) -> list[Array]:  # fmt: skip
    """Compute one step. ``order`` has the places of the input gate, the candidate, the forget and the output gate."""
    if use_peephole:
        raise NotImplementedError("no formula for peephole connections")
    parts = np.split(np.concatenate([x, h_prev], 1) @ w + b, 4, axis=1)
    entry, candidate, forget, output = (parts[place] for place in order)
    entry, candidate, forget = _sigmoid(entry), np.tanh(candidate), _sigmoid(forget + forget_bias)
    state = candidate * entry + cs_prev * forget
    if cell_clip > 0:
        state = np.clip(state, -cell_clip, cell_clip)
    output, squashed = _sigmoid(output), np.tanh(state)
    return [entry, state, forget, output, candidate, squashed, squashed * output]


def _lstm_block(**defaults: Any) -> Callable[..., list[Array]]:
    def steps(seq_len_max: Any, x: Array, cs_prev: Array, h_prev: Array, **options: Any) -> list[Array]:
        rows = []
        for step in x[: int(seq_len_max)]:
            rows.append(lstm_cell(step, cs_prev, h_prev, **{**defaults, **options}))
            cs_prev, h_prev = rows[-1][1], rows[-1][-1]
        return [np.stack(column) for column in zip(*rows)]

    return steps


def normalized_planes(
    x: Array, scale: Array, offset: Array, mean: Array, variance: Array, is_training: bool = True,
    epsilon: float = 0.0001,
) -> list[Array]:  # fmt: skip
    """Normalize in evaluation mode. In training mode, kernels also return their own values for the backward pass."""
    if is_training:
        raise NotImplementedError("no formula for a kernel's values for the backward pass")
    return [(x - mean) / np.sqrt(variance + epsilon) * scale + offset, mean, variance, mean, variance]


def _inverse_real_transform(axes: tuple[int, ...]) -> Callable[..., Array]:
    return lambda input, fft_length: np.fft.irfftn(input, [int(length) for length in fft_length], axes=axes)


def projective_transform(
    images: Array, transforms: Array, output_shape: Sequence[int], interpolation: str, fill_mode: str = "CONSTANT",
    fill_value: float = 0.0,
) -> Array:  # fmt: skip
    if fill_mode != "CONSTANT":
        raise NotImplementedError(fill_mode)
    result = np.full((len(images), *map(int, output_shape), images.shape[3]), float(fill_value))
    for place in np.ndindex(*result.shape[:3]):
        number, row, column = place
        a, b, c, d, e, f, g, h = transforms[min(number, len(transforms) - 1)]
        depth = g * column + h * row + 1
        at = (d * column + e * row + f) / depth, (a * column + b * row + c) / depth
        result[place] = _sampled_anywhere(images[number], at, interpolation, float(fill_value))
    return result


def _sampled_anywhere(image: Array, at: Sequence[float], interpolation: str, fill: float) -> Array:
    def pixel(row: int, column: int) -> Any:
        inside = 0 <= row < image.shape[0] and 0 <= column < image.shape[1]
        return image[row, column] if inside else np.full(image.shape[2], fill)

    if interpolation == "NEAREST":
        return np.asarray(pixel(*(int(np.floor(place + 0.5)) for place in at)))
    corner = np.floor(at).astype(int)
    shares = np.asarray(at) - corner
    return np.asarray(
        sum(
            np.prod([share if step else 1 - share for share, step in zip(shares, steps)])
            * pixel(*(int(place) + step for place, step in zip(corner, steps)))
            for steps in itertools.product((0, 1), repeat=2)
        )
    )


def isotonic_regression(input: Array) -> list[Array]:
    """Return the nearest rows that never increase, and for each element the number of its level."""
    levels, segments = np.zeros(input.shape), np.zeros(input.shape, np.int32)
    for place in np.ndindex(*input.shape[:-1]):
        fit = scipy.optimize.isotonic_regression(input[place], increasing=False)
        levels[place] = fit.x
        segments[place] = np.repeat(np.arange(len(fit.blocks) - 1), np.diff(fit.blocks))
    return [levels, segments]


def _resize_back(kernel: Callable[[float], Mapping[int, float]]) -> Callable[..., Array]:
    """Make the backward pass of a resize: the transpose of its linear map."""

    def weights(large: int, small: int, corners: bool, half: bool) -> Array:
        scale = (small - 1) / (large - 1) if corners and large > 1 else small / large
        matrix = np.zeros((large, small))
        for row in range(large):
            at = (row + 0.5) * scale - 0.5 if half else row * scale
            start = int(np.floor(at))
            for step, share in kernel(at - start).items():
                matrix[row, int(np.clip(start + step, 0, small - 1))] += share
        return matrix

    def back(
        grads: Array, original_image: Array, align_corners: bool = False, half_pixel_centers: bool = False
    ) -> Array:
        rows, columns = (
            weights(large, small, align_corners, half_pixel_centers)
            for large, small in zip(grads.shape[1:3], original_image.shape[1:3])
        )
        return np.asarray(np.einsum("nyxc,yi,xj->nijc", grads, rows, columns))

    return back


def _cubic(share: float) -> Mapping[int, float]:
    """Return the weights of Keys' cubic kernel, with the coefficient -0.75."""
    a = -0.75

    def near(x: float) -> float:
        return ((a + 2) * x - (a + 3)) * x * x + 1

    def far(x: float) -> float:
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a

    return {-1: far(share + 1), 0: near(share), 1: near(1 - share), 2: far(2 - share)}


def sparse_matmul(
    a: Array, b: Array, transpose_a: bool = False, transpose_b: bool = False, a_is_sparse: bool = False,
    b_is_sparse: bool = False,
) -> Array:  # fmt: skip
    return np.asarray((a.T if transpose_a else a) @ (b.T if transpose_b else b))


FORMULAS: Mapping[str, Callable[..., Any]] = {
    "intopk": in_top_k,
    "sparsetopkcategoricalaccuracy": sparse_top_k_accuracy,
    "topkcategoricalaccuracy": top_k_accuracy,
    "histogramfixedwidthbins": histogram_bins,
    "cropandresize": lambda box_ind=None, **options: crop_and_resize(
        **{**options, **({} if box_ind is None else {"box_indices": box_ind})}
    ),
    "nonmaxsuppression": non_max_suppression,
    "nonmaxsuppressionpadded": non_max_suppression_padded,
    "nonmaxsuppressionwithscores": non_max_suppression_with_scores,
    "nonmaxsuppressionoverlaps": non_max_suppression_by_overlaps,
    "nonmaxsuppressionwithoverlaps": non_max_suppression_by_overlaps,
    "tf.raw_ops.NonMaxSuppressionV5": non_max_suppression_counted,
    "combinednonmaxsuppression": combined_non_max_suppression,
    "avgpool3d": _pool(np.mean),
    "maxpool3d": _pool(np.max),
    "avgpool3dgrad": average_pool_back,
    "ctcloss": ctc_loss,
    "lrn": local_response,
    "lrngrad": local_response_back,
    "fakequantwithminmaxvars": fake_quant,
    "fakequantwithminmaxvarsperchannel": fake_quant,
    "fakequantwithminmaxargsgradient": fake_quant_back,
    "fakequantwithminmaxvarsgradient": _fake_quant_back_with_limits(None),
    "fakequantwithminmaxvarsperchannelgradient": _fake_quant_back_with_limits((-1,)),
    "adjustcontrast": adjust_contrast,
    "tf.raw_ops.AdjustHue": _in_colors(lambda h, s, v, amount: ((h + amount) % 1, s, v)),
    "tf.raw_ops.AdjustSaturation": _in_colors(lambda h, s, v, amount: (h, min(max(s * amount, 0), 1), v)),
    "audiospectrogram": spectrogram,
    "grublockcell": gru_cell,
    "lstmblockcell": lstm_cell,
    "tf.raw_ops.BlockLSTM": _lstm_block(),
    "tf.raw_ops.BlockLSTMV2": _lstm_block(forget_bias=0.0, cell_clip=0.0, order=(0, 2, 1, 3)),
    "fusedbatchnorm": normalized_planes,
    "tf.raw_ops.IRFFT2D": _inverse_real_transform((-2, -1)),
    "tf.raw_ops.IRFFT3D": _inverse_real_transform((-3, -2, -1)),
    "imageprojectivetransform": projective_transform,
    "tf.raw_ops.IsotonicRegression": isotonic_regression,
    "resizebilineargrad": _resize_back(lambda share: {0: 1 - share, 1: share}),
    "resizebicubicgrad": _resize_back(_cubic),
    "sparsematmul": sparse_matmul,
}
"""Formulas by the function's normalized name, or by its whole name if functions with the same last name differ."""


def formula_of(name: str) -> Callable[..., Any] | None:
    """Return the formula of a function; None if there is none here."""
    return FORMULAS.get(name) or FORMULAS.get(normalised(name))
