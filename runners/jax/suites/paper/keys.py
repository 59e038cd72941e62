"""Cases of keys of random numbers: ``random.PRNGKey``."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from runners.suite.cases import Context, Function, Prepare

DEVIATIONS = 5.5
"""Standard deviations. Chance exceeds this deviation 4 times in 100 million."""
MANY = 20000


def words(seed: int) -> Any:
    """Return the seed as two 32-bit words, the upper word first. Without 64-bit types the upper word is zero."""
    return np.array([0, seed % 2**32], "uint32")


def wide_words(seed: int) -> Any:
    return np.array([seed % 2**64 // 2**32, seed % 2**32], "uint32")


def compiled_from(context: Context, seed: int) -> Callable[[], Any]:
    """Prepare a compiled program whose argument is the seed."""
    compiled = jax.jit(context.function)
    given = context.to_device(np.array(seed, "int32"))
    return context.compiled(lambda: compiled(given))


def for_each(context: Context, seeds: Any) -> Callable[[], Any]:
    mapped = jax.vmap(context.function)
    return context.compiled(lambda: mapped(seeds))


key = Function("jax.random.PRNGKey", words)
key.value("seed", lambda inputs: [1234567])
key.value("zero", lambda inputs: [0])
key.value("largest", lambda inputs: [2**31 - 1])
key.value("negative", lambda inputs: [-5])
key.value("array", lambda inputs: [np.array(77, "int32")], reference=lambda seed: words(int(seed)))
key.value("past-32-bits", lambda inputs: [2**40 + 5], dtype="int64", reference=wide_words)
key.value("negative-past-32-bits", lambda inputs: [-(2**40) + 5], dtype="int64", reference=wide_words)
key.value("rbg", lambda inputs: [42], reference=lambda seed, impl: np.tile(words(seed), 2), impl="rbg")
key.value("unsafe-rbg", lambda inputs: [43], reference=lambda seed, impl: np.tile(words(seed), 2), impl="unsafe_rbg")
key.value("threefry", lambda inputs: [44], reference=lambda seed, impl: words(seed), impl="threefry2x32")
key.value("jitted", lambda inputs: [271828], prepare=compiled_from)
key.value(
    "vmap",
    lambda inputs: [np.arange(5, 21).astype("int32")],
    prepare=for_each,
    reference=lambda seeds: np.stack([words(int(seed)) for seed in seeds]),
)


def threefry(key: Any, first: Any, second: Any) -> Any:
    """Compute Threefry-2x32 with 20 rounds (Salmon and others, Parallel random numbers: as easy as 1, 2, 3; 2011)."""
    parity = key[0] ^ key[1] ^ np.uint32(0x1BD11BDA)
    schedule = (key[0], key[1], parity)
    x, y = first + key[0], second + key[1]
    for group in range(5):
        for rotation in ((13, 15, 26, 6), (17, 29, 16, 24))[group % 2]:
            x = x + y
            y = ((y << np.uint32(rotation)) | (y >> np.uint32(32 - rotation))) ^ x
        x = x + schedule[(group + 1) % 3]
        y = y + schedule[(group + 2) % 3] + np.uint32(group + 1)
    return x, y


def bits_of(context: Context, seed: int, count: int) -> Callable[[], Any]:
    return context.compiled(lambda: jax.random.bits(context.function(seed, impl="threefry2x32"), (count,)))


def counted_bits(seed: int, count: int) -> Any:
    """Compute random bits. Each number is the encrypted index, with both words combined by XOR."""
    x, y = threefry(words(seed), np.zeros(count, "uint32"), np.arange(count, dtype="uint32"))
    return x ^ y


key.value("its-bits-are-threefry's", lambda inputs: [2024, 1000], prepare=bits_of, reference=counted_bits)


def uniform_of(*seeds: int) -> Prepare:
    """Return a ``prepare`` that draws uniform numbers with the key of each seed. ``impl`` names the algorithm of the
    keys."""

    def prepare(context: Context, impl: str = "threefry2x32") -> Callable[[], Any]:
        def drawn(seed: int) -> Any:
            key = jax.random.wrap_key_data(context.function(seed, impl=impl), impl=impl)
            return jax.random.uniform(key, (MANY,))

        return context.compiled(lambda: [drawn(seed) for seed in seeds])

    return prepare


def assert_uniform(drawn: Any, **options: Any) -> None:
    """Check the Kolmogorov-Smirnov distance from the uniform distribution, and the mean."""
    values = np.sort(drawn[0].values.astype("float64"))
    assert 0 <= values[0] <= values[-1] < 1, f"drawn from {values[0]} to {values[-1]}"
    distance = np.max(np.abs(np.arange(MANY) / MANY - values))
    margin = math.sqrt(math.log(2 / 4e-8) / (2 * MANY))
    assert distance <= margin, f"{distance:.4g} away from uniform, at most {margin:.4g} by chance"
    off = abs(values.mean() - 0.5)
    assert off <= DEVIATIONS / math.sqrt(12 * MANY), f"the mean is {off:.3g} off"


def assert_repeats(drawn: Any, **options: Any) -> None:
    assert np.array_equal(drawn[0].values, drawn[1].values), "the same seed drew other numbers"
    assert len(np.unique(drawn[0].values)) > MANY // 2, "its numbers are few"


def assert_unrelated(drawn: Any, **options: Any) -> None:
    correlation = float(np.corrcoef(drawn[0].values, drawn[1].values)[0, 1])
    assert abs(correlation) <= DEVIATIONS / math.sqrt(MANY), f"correlation {correlation:.3g}"
    assert np.mean(drawn[0].values == drawn[1].values) < 0.01, "two seeds drew the same numbers"


key.statistics("uniform", lambda inputs: [], assert_uniform, prepare=uniform_of(17))
key.statistics("uniform-rbg", lambda inputs: [], assert_uniform, prepare=uniform_of(17), impl="rbg")
key.statistics("same-seed-repeats", lambda inputs: [], assert_repeats, prepare=uniform_of(18, 18))
key.statistics("other-seed-differs", lambda inputs: [], assert_unrelated, prepare=uniform_of(19, 20))


def normal_of(context: Context, seed: int) -> Callable[[], Any]:
    return context.compiled(lambda: jax.random.normal(context.function(seed), (MANY,)))


def assert_normal(drawn: Any, seed: int) -> None:
    values = drawn.values.astype("float64")
    assert abs(values.mean()) <= DEVIATIONS / math.sqrt(MANY), f"mean {values.mean():.3g}"
    # The fourth moment of a normal distribution is 3, so the variance of a square is 2.
    assert abs(np.mean(values**2) - 1) <= DEVIATIONS * math.sqrt(2 / MANY), f"variance {values.var():.4g}"


key.statistics("normal", lambda inputs: [21], assert_normal, prepare=normal_of)

FUNCTIONS: list[Function] = [key]
