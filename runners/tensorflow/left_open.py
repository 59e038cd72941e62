"""TensorFlow functions whose values are not fully determined. Only the form of their results is compared."""

from __future__ import annotations

import re

UNINITIALISED = frozenset({"empty", "emptylike"})
NOT_UNIQUE = frozenset(
    {
        "qr", "svd", "eig", "eigh", "eigvals", "lu", "lufactor", "selfadjointeig", "batchselfadjointeig", "batchsvd",
        "lstsq", "schur", "approxtopk", "approxmaxk", "approxmink",
    }
)  # fmt: skip
"""Decompositions that are also correct with other signs, phases, pivots or orders, and searches that may miss
results."""
FIRST_OF_EQUALS = frozenset(
    {
        "argsort",
        "argmax",
        "argmin",
        "argpartition",
        "topk",
        "maxpoolwithargmax",
    }
)
"""Functions that may return the position of any of several equal elements."""
_RANDOM = re.compile(
    r"random|stateless|multinomial|dropout|shuffle|candidatesampler|truncatednormal|distorted|fractional"
)
_RANDOM_HOMES = ("tf.random", "tf.keras.random", "tf.experimental.numpy.random")


def normalised(name: str) -> str:
    """Return the word that variants of a name have in common: ``sum`` for ``tf.math.reduce_sum`` and
    ``tf.raw_ops.SumV2``."""
    own = re.sub(r"V\d$", "", name.rpartition(".")[2]).replace("_", "").lower()
    return re.sub(r"v\d$", "", own)


def is_random(name: str) -> bool:
    """Whether a function draws random numbers, according to its name or its module."""
    return name.rpartition(".")[0] in _RANDOM_HOMES or _RANDOM.search(normalised(name)) is not None
