"""Recipes of elementwise functions of one, two and three arrays."""

from __future__ import annotations

from collections.abc import Iterator

from freezing.jax.draws import Draw
from freezing.jax.recipes.recipe import Call, Calls, alike, call, of_arrays, of_one, of_sources, recipe, within

NUMPY, LAX, NN, SPECIAL = "jax.numpy", "jax.lax", "jax.nn", "jax.scipy.special"
FLOATS = "float32 bfloat16 float16"
INEXACT = "float32 complex64 bfloat16"
NUMBERS = "float32 int32 complex64 bfloat16"
REALS = "float32 int32 bfloat16"
WHOLE = "int32 uint8 bool"


def unary(draw: Draw) -> Iterator[Call]:
    yield call(draw.array(3, 4))
    yield call(draw.edges())
    yield call(draw.array())
    yield call(draw.array(0, 3))


SHAPES = ((3, 4), (), (0, 3))
BROADCAST = (((3, 4), (3, 4)), ((3, 4), (4,)), ((), ()), ((0, 3), (3,)))


def unary_within(low: float, high: float) -> Calls:
    return of_arrays(*alike(1, (3, 4), (), (0, 3), (2, 1, 5)), by=within(low, high))


def binary_within(low: float, high: float) -> Calls:
    return of_arrays(*BROADCAST, ((2, 1), (1, 3)), by=within(low, high))


def alike_within(low: float, high: float) -> Calls:
    """Call with two arrays of the same shape, because ``jax.lax`` does not broadcast."""
    return of_arrays(*alike(2, *SHAPES, (2, 5)), by=within(low, high))


def of_units(count: int) -> Calls:
    """Call with ``count`` arrays of values between 0 and 1."""
    return of_arrays(*alike(count, *SHAPES), by=Draw.unit)


positive = unary_within(0.3, 4)
unit = unary_within(0.05, 0.95)
signed_unit = unary_within(-0.95, 0.95)
binary = binary_within(-3, 3)
binary_alike = alike_within(-3, 3)
positive_binary = binary_within(0.5, 3)
positive_alike = alike_within(0.5, 3)
divisions = of_sources(BROADCAST, Draw.array, within(1, 4))
divided_alike = of_sources(alike(2, *SHAPES), Draw.array, within(1, 4))
comparisons = of_arrays(*BROADCAST, by=Draw.with_repeats)
compared_alike = of_arrays(*alike(2, *SHAPES), by=Draw.with_repeats)
shifts = of_sources(BROADCAST[:3], within(0, 100), within(0, 5))
shifted_alike = of_sources(alike(2, *SHAPES), within(0, 100), within(0, 5))
scalings = of_sources(BROADCAST[:3], Draw.array, Draw.integers)
along_axis = of_one(call((3, 4)), call((3, 4), axis=0), call((4,)), call((0, 4)))
clamps = of_sources(alike(3, *SHAPES), within(-2, -1), Draw.array, within(1, 2))
roundings = of_one(call((3, 4)), call((3, 4), 1), call(()), call((0, 3)))
selections = of_sources(alike(3, *SHAPES), Draw.booleans, Draw.array, Draw.array)
nested_where = of_sources(
    (((3, 4), (3, 4), (3, 4)), ((3, 1), (4,), ()), ((0, 3), (0, 3), (3,))), Draw.booleans, Draw.array, Draw.array
)


def activations(draw: Draw) -> Iterator[Call]:
    yield from unary(draw)
    yield call(draw.array(3, 4), 0.3)


def clips(draw: Draw) -> Iterator[Call]:
    yield call(draw.array(3, 4), -1, 1)
    yield call(draw.array(3, 4), draw.within(-2, 0, 4), draw.within(1, 2, 3, 1))
    yield call(draw.array(), max=1)
    yield call(draw.array(0, 3), -1, 1)


def close(draw: Draw) -> Iterator[Call]:
    values = draw.array(3, 4)
    yield call(values, values + 1e-7 if draw.is_floating else values)
    yield call(values, draw.array(4))
    yield call(values, draw.array(3, 4), rtol=2.0)
    yield call(draw.edges(), draw.edges(), equal_nan=True)


def with_counts(draw: Draw) -> Iterator[Call]:
    """Call with the order of the function, an integer as a float, and its argument."""
    for shape in ((3, 4), (4,), ()):
        yield call(draw.integers(*shape, low=1, high=3).astype(float), draw.positive(*shape))


RECIPES = [
    recipe(
        NUMPY,
        "sin cos tan sinh cosh arctan atan arcsinh asinh exp exp2 expm1 square sinc i0 angle",
        unary,
        INEXACT,
    ),
    recipe(
        NUMPY,
        "abs absolute negative positive sign conj conjugate real imag isfinite isinf isnan iscomplex isreal "
        "nan_to_num logical_not trunc",
        unary,
        NUMBERS,
    ),
    recipe(
        NUMPY,
        "fabs cbrt degrees deg2rad radians rad2deg floor ceil rint isneginf isposinf signbit spacing frexp modf",
        unary,
        REALS,
    ),
    recipe(NUMPY, "sqrt log log10 log2 log1p reciprocal", positive, INEXACT),
    recipe(NUMPY, "arccosh acosh", unary_within(1.1, 4), INEXACT),
    recipe(NUMPY, "arcsin asin arccos acos arctanh atanh", signed_unit, INEXACT),
    recipe(NUMPY, "invert bitwise_not bitwise_invert bitwise_count", unary, WHOLE),
    recipe(NUMPY, "around round", roundings, REALS),
    recipe(NUMPY, "add subtract multiply", binary, NUMBERS),
    recipe(NUMPY, "maximum minimum fmax fmin logical_and logical_or logical_xor", binary, REALS),
    recipe(NUMPY, "arctan2 atan2 copysign hypot nextafter logaddexp logaddexp2 heaviside", binary, FLOATS),
    recipe(NUMPY, "power pow float_power", positive_binary, REALS),
    recipe(NUMPY, "divide true_divide", divisions, NUMBERS),
    recipe(NUMPY, "floor_divide remainder mod fmod divmod", divisions, REALS),
    recipe(NUMPY, "equal not_equal greater greater_equal less less_equal", comparisons, REALS),
    recipe(NUMPY, "bitwise_and bitwise_or bitwise_xor", binary, WHOLE),
    recipe(NUMPY, "gcd lcm", binary_within(0, 20), "int32 uint8"),
    recipe(NUMPY, "left_shift right_shift bitwise_left_shift bitwise_right_shift", shifts, "int32 uint8"),
    recipe(NUMPY, "ldexp", scalings, FLOATS),
    recipe(NUMPY, "clip", clips, REALS),
    recipe(NUMPY, "isclose allclose array_equal array_equiv", close, NUMBERS),
    recipe(NUMPY, "where", nested_where, "float32 int32 bool complex64"),
    recipe(
        LAX,
        "sin cos tan sinh cosh tanh atan asinh exp exp2 expm1 logistic square",
        unary,
        INEXACT,
    ),
    recipe(LAX, "abs neg sign stop_gradient optimization_barrier", unary, NUMBERS),
    recipe(LAX, "floor ceil round is_finite erf erfc cbrt bessel_i0e bessel_i1e", unary, FLOATS),
    recipe(LAX, "real imag conj", unary, "complex64"),
    recipe(LAX, "sqrt rsqrt log log1p reciprocal", positive, INEXACT),
    recipe(LAX, "lgamma digamma", positive, FLOATS),
    recipe(LAX, "acosh", unary_within(1.1, 4), INEXACT),
    recipe(LAX, "asin acos atanh", signed_unit, INEXACT),
    recipe(LAX, "erf_inv", signed_unit, FLOATS),
    recipe(LAX, "bitwise_not population_count clz", unary, "int32 uint8"),
    recipe(LAX, "add sub mul", binary_alike, NUMBERS),
    recipe(LAX, "max min", binary_alike, REALS),
    recipe(LAX, "atan2 nextafter", binary_alike, FLOATS),
    recipe(LAX, "complex", binary_alike, "float32"),
    recipe(LAX, "pow", positive_alike, INEXACT),
    recipe(LAX, "div", divided_alike, NUMBERS),
    recipe(LAX, "rem", divided_alike, REALS),
    recipe(LAX, "eq ne ge gt le lt", compared_alike, REALS),
    recipe(LAX, "bitwise_and bitwise_or bitwise_xor", binary_alike, WHOLE),
    recipe(LAX, "mulhi", alike_within(0, 100), "int32 uint8"),
    recipe(LAX, "shift_left shift_right_arithmetic shift_right_logical", shifted_alike, "int32 uint8"),
    recipe(LAX, "igamma igammac igamma_grad_a random_gamma_grad", positive_alike, "float32 bfloat16"),
    recipe(LAX, "betainc", of_units(3), "float32 bfloat16"),
    recipe(LAX, "polygamma", with_counts, "float32"),
    recipe(LAX, "zeta", alike_within(1.5, 4), "float32 bfloat16"),
    recipe(LAX, "clamp", clamps, REALS),
    recipe(LAX, "select", selections, "float32 int32 bool complex64"),
    recipe(
        NN,
        "relu relu6 sigmoid silu soft_sign softplus mish log_sigmoid hard_sigmoid hard_silu hard_tanh selu sparse_plus "
        "sparse_sigmoid tanh identity gelu",
        unary,
        FLOATS,
    ),
    recipe(NN, "celu elu leaky_relu squareplus", activations, FLOATS),
    recipe(NN, "log1mexp", positive, FLOATS),
    recipe(NN, "softmax log_softmax glu standardize", along_axis, FLOATS),
    recipe(SPECIAL, "softmax log_softmax", along_axis, FLOATS),
    recipe(
        SPECIAL,
        "erf erfc erfcx dawsn expit i0 i0e i1 i1e ndtr log_ndtr fresnel sici",
        unary,
        FLOATS,
    ),
    recipe(SPECIAL, "digamma gamma gammaln loggamma gammasgn entr exp1 expi spence factorial", positive, FLOATS),
    recipe(SPECIAL, "erfinv", signed_unit, FLOATS),
    recipe(SPECIAL, "logit ndtri", unit, FLOATS),
    recipe(SPECIAL, "wofz", unary, "complex64 float32"),
    recipe(
        SPECIAL,
        "beta betaln gammainc gammaincc kl_div rel_entr xlog1py xlogy boxcox boxcox1p poch owens_t",
        positive_binary,
        FLOATS,
    ),
    recipe(SPECIAL, "zeta", binary_within(1.5, 4), FLOATS),
    recipe(SPECIAL, "polygamma expn", with_counts, "float32"),
    recipe(SPECIAL, "betainc hyp1f1", of_units(3), "float32 bfloat16"),
    recipe(SPECIAL, "hyp2f1", of_units(4), "float32 bfloat16"),
]
