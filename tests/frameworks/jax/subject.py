"""The subject JAX: how signatures of its functions are read, and the known exceptions in its tests."""

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
"""Names in the paper that this JAX version does not have, each with its current replacement."""

FAULTY: dict[str, str] = {
    "jax.numpy.all/complex64-imaginary": "a number without a real part counts as false",
}
"""Cases that this JAX version also gets wrong on the CPU, each with its error."""


A_COPY = "the call gets a copy that the case has made"
WRITTEN_OVER_UNSEEN: dict[str, str] = {
    "jax.make_jaxpr/named-axis": "the function is traced with a row that the case has cut out",
    "jax.numpy.array/copy": A_COPY,
    "jax.numpy.reshape/copy": A_COPY,
    "jax.numpy.reshape/transposed": A_COPY,
    # Of the whole function: whether one of its cases notices it depends on where buffers lie in a long process.
    "jax.tree_util.Partial": "what is called holds other arrays, which the case has mapped",
}
"""Functions and cases that do not detect an overwritten array argument, each with the reason."""

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
"""Cases that do not detect zeros in a later result, each with the reason."""

READING = Reading()

WITHOUT_VALUE: dict[str, str] = {
    "device": "it places the result",
    "out": "NumPy's own; JAX refuses all but None",
    "out_sharding": "it places the result on several devices",
    "sharding": "it places the callback on several devices",
}
"""Keywords that affect no value in any function."""

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
"""Keywords that could affect values but are passed in no case, each with the reason."""

NOT_FED: dict[str, str] = {
    "jax.lax.infeed": "this JAX has none",
    "jax.numpy.linalg.svd": "nothing is promised of a factorisation of NaN",
    "jax.named_call": "it gives a name, and the named function computes",
    "jax.numpy.tril_indices_from": "it reads the shape alone",
    "jax.scipy.linalg.lu": "nothing is promised of a factorisation of NaN",
    "jax.vjp": "the functions that it differentiates have their own cases",
}
"""Functions of floats for which no case has NaN, each with the reason."""

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
