"""JAX as its tests know it: how its functions are read, and which exceptions from the claims are known."""

from __future__ import annotations

from runners.jax import FRAMEWORK
from tests.frameworks.common.keywords import Reading
from tests.frameworks.common.subject import Subject
from tests.frameworks.jax.arrays import ARRAYS
from tests.frameworks.jax.dialect import DIALECT
from tests.frameworks.jax.wrappers import wrapper_of

GONE: dict[str, str] = {
    "jax._src.core.get_aval": "jax.typeof",
    "jax.lax.infeed": "jax.experimental.io_callback",
}
"""Names as the paper printed them that this JAX does not have, and what stands for them today."""

FAULTY: dict[str, str] = {
    "jax.numpy.all/complex64-imaginary": "a number without a real part counts as false",
}
"""Cases that this JAX gets wrong on the CPU too, and how."""


A_COPY = "the call gets a copy that the case has made"
WRITTEN_OVER_UNSEEN: dict[str, str] = {
    "jax.make_jaxpr/named-axis": "the function is traced with a row that the case has cut out",
    "jax.numpy.array/copy": A_COPY,
    "jax.numpy.reshape/copy": A_COPY,
    "jax.numpy.reshape/transposed": A_COPY,
    # Of the whole function: whether one of its cases notices it depends on where buffers lie in a long process.
    "jax.tree_util.Partial": "what is called holds other arrays, which the case has mapped",
}
"""Functions and cases that do not notice when the array that they are given is written over, and why."""

A_KEY = "zeros are a key as good as any other"
RIGHT_ONCE_UNSEEN: dict[str, str] = {
    "jax.numpy.einsum_path/report": "what it reports, which is no array",
    "jax.random.PRNGKey/normal": A_KEY,
    "jax.random.PRNGKey/same-seed-repeats": "zeros repeat as well",
    "jax.random.PRNGKey/uniform": A_KEY,
    "jax.random.PRNGKey/uniform-rbg": A_KEY,
    "jax.vjp/other-shape-is-refused": "the error alone, which the derivative raises before it has a result",
    "jax.vjp/whole-numbers-for-floating-ones-are-refused": "the error alone, which comes before a result",
}
"""Cases that do not notice zeros in place of a later result, and why."""

READING = Reading()

WITHOUT_VALUE: dict[str, str] = {
    "device": "it places the result",
    "out": "NumPy's own; JAX refuses all but None",
    "out_sharding": "it places the result on several devices",
    "sharding": "it places the callback on several devices",
}
"""Keywords that decide no value, wherever they stand."""

UNUSED: dict[str, dict[str, str]] = {
    "jax.lax.all_gather": {"to": "it marks the result for shard_map's own checks"},
    "jax.numpy.add": {"where": "NumPy's own; JAX refuses all but None"},
    "jax.numpy.array": {"order": "it lays the result out, and JAX has its own layouts"},
    "jax.numpy.linalg.svd": {"subset_by_index": "its kernels for CPU and GPU refuse all but the whole range"},
    "jax.scipy.linalg.lu": {
        "check_finite": "SciPy's own; JAX does not look at it",
        "overwrite_a": "SciPy's own; JAX does not look at it",
    },
    "jax.scipy.signal.convolve2d": {
        "boundary": "JAX refuses all but the default",
        "fillvalue": "JAX refuses all but the default",
    },
    "jax._src.interpreters.partial_eval.trace_to_jaxpr_dynamic": {
        "auto_dce": "it shortens the program, which computes the same",
        "keep_inputs": "it shortens the program, which computes the same",
        "lower": "it chooses the types of what is to be lowered, within JAX itself",
    },
    "jax.vjp": {"reduce_axes": "JAX refuses all but the default"},
}
"""Keywords that could decide values and that no case gives, and why."""

NOT_FED: dict[str, str] = {
    "jax.lax.infeed": "this JAX has none",
    "jax.numpy.linalg.svd": "nothing is promised of a factorisation of NaN",
    "jax.named_call": "it gives a name, and the named function computes",
    "jax.numpy.tril_indices_from": "it reads the shape alone",
    "jax.scipy.linalg.lu": "nothing is promised of a factorisation of NaN",
    "jax.vjp": "the functions that it differentiates have their own cases",
}
"""Functions on floats that no case feeds NaN, and why."""

SUBJECT = Subject(
    framework=FRAMEWORK,
    arrays=ARRAYS,
    dialect=DIALECT,
    wrapper_of=wrapper_of,
    reading=READING,
    mutants_share=6,
    library_share=20,
    docs_share=20,
    gone=GONE,
    faulty=FAULTY,
    written_over_unseen=WRITTEN_OVER_UNSEEN,
    right_once_unseen=RIGHT_ONCE_UNSEEN,
    without_value=WITHOUT_VALUE,
    unused=UNUSED,
    not_fed=NOT_FED,
)
