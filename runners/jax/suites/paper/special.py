"""Cases of special functions, as in SciPy: ``gammaln``, ``i0``, ``ndtr``, and ``norm.cdf`` of the normal
distribution."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from runners.jax.suites.paper.calls import gradient, in_vmap, jitted
from runners.jax.suites.paper.elementwise import edges, of_integers
from runners.suite.cases import Function, MakeArguments


def density(x: Any) -> Any:
    return np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)


gammaln = Function("jax.scipy.special.gammaln", lambda x: np.asarray(special.gammaln(x)))
gammaln.value("float32-256x256", lambda inputs: [inputs.uniform(256, 256, low=0.1, high=30)])
gammaln.value("float64", lambda inputs: [inputs.uniform(31, 9, low=0.1, high=100)], dtype="float64")
gammaln.value("float16", lambda inputs: [inputs.uniform(31, 9, low=0.2, high=9)], dtype="float16")
gammaln.value("bfloat16", lambda inputs: [inputs.uniform(31, 9, low=0.2, high=9)], dtype="bfloat16")
gammaln.value(
    "int32", lambda inputs: [inputs.integers(40, low=1, high=40, dtype="int32")], reference=of_integers(special.gammaln)
)
gammaln.value("negative", lambda inputs: [-np.arange(1.0, 9) + inputs.uniform(6, 8, low=0.2, high=0.8)])
gammaln.value("poles-are-infinite", lambda inputs: [np.array([0.0, -1.0, -2.0, -7.0])])
gammaln.value("large-and-small", lambda inputs: [np.exp(inputs.uniform(60, low=-20, high=20))])
gammaln.value("zeros-at-one-and-two", lambda inputs: [np.array([1.0, 2.0, 3.0, 0.5])])
gammaln.value("infinity-and-nan", lambda inputs: [np.array([np.inf, np.nan, 4.0])])
gammaln.value("scalar", lambda inputs: [inputs.uniform(low=3, high=9)])
gammaln.value("empty", lambda inputs: [inputs.normal(0, 3)])
gammaln.value("jitted", lambda inputs: [inputs.uniform(64, 128, low=0.1, high=30)], prepare=jitted)
gammaln.value("vmap", lambda inputs: [inputs.uniform(6, 20, low=0.1, high=30)], prepare=in_vmap)
gammaln.value(
    "gradient",
    lambda inputs: [inputs.uniform(16, 16, low=0.3, high=20), inputs.normal(16, 16)],
    prepare=gradient,
    reference=lambda x, upstream: [special.gammaln(x), special.digamma(x) * upstream],
)

i0 = Function("jax.scipy.special.i0", lambda x: np.asarray(special.i0(x)))
i0.value("float32-256x256", lambda inputs: [inputs.uniform(256, 256, low=-10, high=10)])
i0.value("float64", lambda inputs: [inputs.uniform(31, 9, low=-30, high=30)], dtype="float64")
i0.value("float16", lambda inputs: [inputs.uniform(31, 9, low=-6, high=6)], dtype="float16")
i0.value("bfloat16", lambda inputs: [inputs.uniform(31, 9, low=-6, high=6)], dtype="bfloat16")
i0.value("int32", lambda inputs: [inputs.integers(40, dtype="int32")], reference=of_integers(special.i0))
i0.value("near-zero", lambda inputs: [inputs.normal(60) / 100])
i0.value("where-its-series-change", lambda inputs: [np.linspace(7.5, 8.5, 101)])
i0.value("even", lambda inputs: [np.concatenate([np.arange(20.0), -np.arange(20.0)])])
i0.value("infinities-and-nan", lambda inputs: [np.array([np.inf, -np.inf, np.nan, 0.0])])
i0.value("scalar", lambda inputs: [inputs.uniform(low=3, high=9)])
i0.value("empty", lambda inputs: [inputs.normal(0, 3)])
i0.value("jitted", lambda inputs: [inputs.uniform(64, 128, low=-10, high=10)], prepare=jitted)
i0.value("vmap", lambda inputs: [inputs.uniform(6, 20, low=-10, high=10)], prepare=in_vmap)
i0.value(
    "gradient",
    lambda inputs: [inputs.uniform(16, 16, low=-9, high=9), inputs.normal(16, 16)],
    prepare=gradient,
    reference=lambda x, upstream: [special.i0(x), special.i1(x) * upstream],
)

ndtr = Function("jax.scipy.special.ndtr", lambda x: np.asarray(special.ndtr(x)))
ndtr.value("float32-256x256", lambda inputs: [2 * inputs.normal(256, 256)])
ndtr.value("float64", lambda inputs: [2 * inputs.normal(31, 9)], dtype="float64")
ndtr.value("tails", lambda inputs: [np.linspace(-12, 12, 97)])
ndtr.value("float64-tails", lambda inputs: [np.linspace(-12, 12, 97)], dtype="float64")
ndtr.value("near-zero", lambda inputs: [inputs.normal(60) / 100])
ndtr.value("edges", lambda inputs: [edges(inputs)])
ndtr.value("scalar", lambda inputs: [inputs.normal()])
ndtr.value("empty", lambda inputs: [inputs.normal(0, 3)])
ndtr.value("jitted", lambda inputs: [inputs.normal(64, 128)], prepare=jitted)
ndtr.value("vmap", lambda inputs: [inputs.normal(6, 20)], prepare=in_vmap)
ndtr.value(
    "gradient",
    lambda inputs: [inputs.normal(16, 16), inputs.normal(16, 16)],
    prepare=gradient,
    reference=lambda x, upstream: [special.ndtr(x), density(x) * upstream],
)
ndtr.value(
    "gradient-in-the-tails",
    lambda inputs: [np.array([-6.0, -3.0, 3.0, 6.0, 9.0]), 100 * inputs.normal(5)],
    prepare=gradient,
    reference=lambda x, upstream: [special.ndtr(x), density(x) * upstream],
)


def cumulated(x: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """Compute the distribution with the complementary error function, which is exact in the lower tail."""
    return np.asarray(special.erfc((loc - x) / (scale * np.sqrt(2))) / 2)


def cdf_gradients(x: Any, loc: Any, scale: Any, upstream: Any) -> Any:
    standard = (x - loc) / scale
    by_x = density(standard) / scale * upstream
    return [cumulated(x, loc, scale), by_x, -by_x, -by_x * standard]


cdf = Function("jax.scipy.stats.norm.cdf", cumulated)
cdf.value("float32-256x256", lambda inputs: [2 * inputs.normal(256, 256)])
SHAPES: dict[str, tuple[tuple[int, ...], ...]] = {
    "alike": ((12, 9), (12, 9), (12, 9)),
    "one-loc-and-scale": ((12, 9), (), ()),
    "loc-of-rows": ((12, 9), (12, 1), ()),
    "scale-of-columns": ((12, 9), (), (9,)),
    "rows-and-columns": ((12, 1), (1, 9), (9,)),
    "one-x": ((), (12, 9), (12, 9)),
    "four-axes": ((3, 1, 4, 1), (2, 1, 5), (4, 1)),
    "scalars": ((), (), ()),
    "empty": ((0, 9), (9,), ()),
}


def shaped(of_x: tuple[int, ...], of_loc: tuple[int, ...], of_scale: tuple[int, ...]) -> MakeArguments:
    return lambda inputs: [2 * inputs.normal(*of_x), inputs.normal(*of_loc), inputs.uniform(*of_scale, low=0.5, high=3)]


for called, shapes in SHAPES.items():
    for dtype in ("float32", "float64"):
        cdf.value(f"{dtype}-{called}", shaped(*shapes), dtype=dtype)
cdf.value("loc-alone", lambda inputs: [inputs.normal(40), inputs.normal(40)])
cdf.value("python-loc-and-scale", lambda inputs: [inputs.normal(40), 0.5, 2.0])
cdf.value("loc-and-scale-by-name", lambda inputs: [inputs.normal(40)], loc=-0.5, scale=0.25)
cdf.value(
    "int32", lambda inputs: [inputs.integers(40, low=-4, high=5, dtype="int32")], reference=of_integers(cumulated)
)
cdf.value(
    "int32-and-float32", lambda inputs: [inputs.integers(40, low=-4, high=5, dtype="int32"), inputs.normal(40), 1.5]
)
cdf.value("tails", lambda inputs: [np.linspace(-12, 12, 97)])
cdf.value("float64-tails", lambda inputs: [np.linspace(-12, 12, 97)], dtype="float64")
cdf.value("edges", lambda inputs: [edges(inputs)])
cdf.value("narrow-scale", lambda inputs: [inputs.normal(40) / 1000, 0.0, 0.001])
cdf.value("jitted", lambda inputs: [inputs.normal(64, 128), inputs.normal(128), 2.0], prepare=jitted)
cdf.value(
    "vmap",
    lambda inputs: [inputs.normal(6, 20), inputs.normal(6, 20), inputs.uniform(6, 20, low=1, high=2)],
    prepare=in_vmap,
)
for dtype in ("float32", "float64"):
    cdf.value(
        f"gradient-{dtype}",
        lambda inputs: [
            inputs.normal(8, 9),
            inputs.normal(8, 9),
            inputs.uniform(8, 9, low=0.5, high=2),
            inputs.normal(8, 9),
        ],
        dtype=dtype,
        prepare=gradient,
        reference=cdf_gradients,
    )

FUNCTIONS: list[Function] = [gammaln, i0, ndtr, cdf]
