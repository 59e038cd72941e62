"""Recipes of signals, polynomials, sets, histograms and interpolation."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from freezing.jax.draws import Draw
from freezing.jax.recipes.elementwise import NUMBERS, NUMPY, REALS
from freezing.jax.recipes.recipe import Call, call, of_arrays, of_one, recipe

FFT, SIGNAL, SCIPY_FFT = "jax.numpy.fft", "jax.scipy.signal", "jax.scipy.fft"
FIELDS = "float32 complex64"

transforms = of_one(call((8,)), call((3, 6), axis=0), call((3, 6), 4), call((7,), norm="ortho"))
planes = of_one(call((4, 6)), call((4, 6), norm="ortho"), call((4, 6), (4, 4)), call((2, 4, 6), axes=(0, 2)))
cosines = of_one(call((8,)), call((3, 6), axis=0), call((3, 6), norm="ortho"))
shifts = of_one(call((5,)), call((3, 4)), call((3, 4), axes=(1,)))
spectra = of_one(call((32,), nperseg=16), call((2, 32), nperseg=8, noverlap=4))
differences = of_one(call((3, 5)), call((3, 5), n=2), call((3, 5), axis=0), call((1,)))
histograms = of_one(call((20,), 5), call((20,), np.array([-3.0, -1.0, 0.0, 2.0])), call((20,), 4, (-2, 2)))
polynomials = of_arrays(((4,), (3,)), ((2,), (2,)))


def convolutions(draw: Draw) -> Iterator[Call]:
    for mode in ("full", "same", "valid"):
        yield call(draw.array(7), draw.array(3), mode=mode)


def convolved_planes(draw: Draw) -> Iterator[Call]:
    for mode in ("full", "same", "valid"):
        yield call(draw.array(5, 4), draw.array(2, 3), mode=mode)


def sets(draw: Draw) -> Iterator[Call]:
    yield call(draw.with_repeats(6), draw.with_repeats(4))
    yield call(draw.with_repeats(6), draw.with_repeats(2, 2))
    yield call(draw.array(0), draw.with_repeats(3))


def unique(draw: Draw) -> Iterator[Call]:
    yield call(draw.with_repeats(7))
    yield call(draw.with_repeats(3, 3))
    yield call(draw.with_repeats(7), size=5)
    yield call(draw.array(0))


def unique_with_places(draw: Draw) -> Iterator[Call]:
    yield from unique(draw)
    yield call(draw.with_repeats(7), return_index=True, return_inverse=True, return_counts=True)


def members(draw: Draw) -> Iterator[Call]:
    yield call(draw.with_repeats(3, 4), draw.with_repeats(2))
    yield call(draw.with_repeats(5), draw.with_repeats(2), invert=True)


def counts(draw: Draw) -> Iterator[Call]:
    yield call(draw.integers(10, high=4))
    yield call(draw.integers(10, high=4), draw.array(10), length=6)
    yield call(draw.integers(10, high=4), minlength=7)
    yield call(draw.integers(0))


def interpolations(draw: Draw) -> Iterator[Call]:
    yield call(draw.array(5), np.sort(draw.distinct(6)), draw.array(6))
    yield call(draw.array(2, 2), np.sort(draw.distinct(6)), draw.array(6), left=-1.0, right=1.0)


def areas(draw: Draw) -> Iterator[Call]:
    yield call(draw.array(5))
    yield call(draw.array(3, 5), np.sort(draw.distinct(5)))
    yield call(draw.array(3, 5), dx=0.5, axis=0)


def resizings(draw: Draw) -> Iterator[Call]:
    for method in ("nearest", "linear", "cubic", "lanczos3"):
        yield call(draw.array(4, 5), (6, 3), method)


def coordinates(draw: Draw) -> Iterator[Call]:
    for order, mode in ((0, "constant"), (1, "nearest"), (1, "wrap"), (1, "mirror")):
        yield call(draw.array(4, 5), [draw.within(0, 3, 6), draw.within(0, 4, 6)], order, mode)


def attentions(draw: Draw) -> Iterator[Call]:
    query, key, value = (draw.array(1, 4, 2, 3) for _ in range(3))
    yield call(query, key, value)
    yield call(query, key, value, is_causal=True)
    yield call(query, key, value, scale=0.5)


RECIPES = [
    recipe(FFT, "fft ifft", transforms, FIELDS),
    recipe(FFT, "rfft ihfft", transforms, "float32"),
    recipe(FFT, "irfft hfft", transforms, "complex64"),
    recipe(FFT, "fft2 ifft2 fftn ifftn", planes, FIELDS),
    recipe(FFT, "rfft2 rfftn", planes, "float32"),
    recipe(FFT, "irfft2 irfftn", planes, "complex64"),
    recipe(FFT, "fftshift ifftshift", shifts, NUMBERS),
    recipe(SCIPY_FFT, "dct idct", cosines, "float32 bfloat16"),
    recipe(SCIPY_FFT, "dctn idctn", lambda draw: list(planes(draw))[:2], "float32 bfloat16"),
    recipe(
        "jax.lax", "fft", lambda draw: [call(draw.array(3, 8), kind, (8,)) for kind in ("fft", "ifft")], "complex64"
    ),
    recipe(NUMPY, "convolve correlate", convolutions, NUMBERS),
    recipe(SIGNAL, "convolve correlate fftconvolve", convolutions, FIELDS),
    recipe(SIGNAL, "convolve2d correlate2d", convolved_planes, FIELDS),
    recipe(SIGNAL, "welch stft", spectra, "float32"),
    recipe(SIGNAL, "csd", lambda draw: [call(draw.array(32), draw.array(32), nperseg=16)], "float32"),
    recipe(SIGNAL, "istft", lambda draw: [call(draw.array(9, 5), nperseg=16)], "complex64"),
    recipe(SIGNAL, "detrend", lambda draw: [call(draw.array(8)), call(draw.array(3, 8), type="constant")], "float32"),
    recipe(NUMPY, "polyadd polysub polymul", polynomials, NUMBERS),
    recipe(NUMPY, "polydiv", lambda draw: [call(draw.array(4), draw.positive(2))], FIELDS),
    recipe(NUMPY, "polyval", lambda draw: [call(draw.array(4), draw.array(3)), call(draw.array(4), draw.array())]),
    recipe(NUMPY, "polyder polyint", lambda draw: [call(draw.array(4)), call(draw.array(4), 2)], FIELDS),
    recipe(NUMPY, "polyfit", lambda draw: [call(draw.distinct(6), draw.array(6), 2)], "float32"),
    recipe(NUMPY, "poly", lambda draw: [call(draw.array(3)), call(draw.array(3, 3))], FIELDS),
    recipe(NUMPY, "roots", lambda draw: [call(draw.positive(4))], FIELDS),
    recipe(NUMPY, "vander", lambda draw: [call(draw.array(4)), call(draw.array(3), 2, increasing=True)], NUMBERS),
    recipe(NUMPY, "union1d intersect1d setdiff1d setxor1d", sets, REALS),
    recipe(NUMPY, "unique", unique_with_places, REALS),
    recipe(NUMPY, "unique_all unique_counts unique_inverse unique_values", unique, REALS),
    recipe(NUMPY, "isin", members, REALS),
    recipe(NUMPY, "histogram histogram_bin_edges", histograms, "float32"),
    recipe(NUMPY, "histogram2d", lambda draw: [call(draw.array(20), draw.array(20), 3)], "float32"),
    recipe(NUMPY, "histogramdd", lambda draw: [call(draw.array(20, 2), 3)], "float32"),
    recipe(NUMPY, "bincount", counts, "float32 int32"),
    recipe(NUMPY, "interp", interpolations, "float32 bfloat16"),
    recipe(NUMPY, "diff", differences, NUMBERS),
    recipe(NUMPY, "ediff1d", lambda draw: [call(draw.array(5)), call(draw.array(3), to_end=draw.array(2))], NUMBERS),
    recipe(NUMPY, "gradient", lambda draw: [call(draw.array(5)), call(draw.array(3, 4), axis=1)], FIELDS),
    recipe(NUMPY, "trapezoid", areas, FIELDS),
    recipe("jax.scipy.integrate", "trapezoid", areas, FIELDS),
    recipe(NUMPY, "unwrap", lambda draw: [call(draw.within(-9, 9, 8)), call(draw.within(-9, 9, 3, 4), axis=0)]),
    recipe(
        NUMPY,
        "trim_zeros",
        lambda draw: [call(np.array([0, 0, 1, 2, 0, 3, 0], draw.dtype)), call(draw.positive(3), "f")],
        "int32 float32",
    ),
    recipe(NUMPY, "unravel_index", lambda draw: [call(draw.integers(5, high=11), (3, 4))], "int32"),
    recipe(
        NUMPY,
        "ravel_multi_index",
        lambda draw: [call((draw.integers(5, high=2), draw.integers(5)), (3, 4), mode="clip")],
        "int32",
    ),
    recipe("jax.image", "resize", resizings, "float32 bfloat16"),
    recipe(
        "jax.image",
        "scale_and_translate",
        lambda draw: [call(draw.array(4, 5), (6, 3), (0, 1), np.array([1.5, 0.6]), np.array([0.1, 0.2]), "linear")],
        "float32",
    ),
    recipe("jax.scipy.ndimage", "map_coordinates", coordinates, "float32"),
    recipe("jax.scipy.cluster.vq", "vq", lambda draw: [call(draw.array(6, 3), draw.array(2, 3))], "float32"),
    recipe("jax.nn", "dot_product_attention", attentions, "float32 bfloat16"),
]
