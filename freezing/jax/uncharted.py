"""List the uncharted names: public names of JAX without a recipe or a harness, each with a reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

from freezing.common.parts import Entry, Reason

MODULES = ("jax.Array", "jax.image", "jax.lax", "jax.nn", "jax.numpy", "jax.ops", "jax.random", "jax.scipy")
"""Modules and classes whose uncharted names are listed one by one. For other modules only their number is listed."""
NO_RECIPE = "no recipe"


def _names_in(module: str, names: str) -> frozenset[str]:
    return frozenset(f"{module}.{name}" for name in names.split())


REASONS: Mapping[str, Collection[str]] = {
    "it works across several devices": _names_in(
        "jax.lax",
        "all_gather all_to_all axis_index axis_size pbroadcast pcast pmax pmean pmin ppermute precv psend pshuffle "
        "psum psum_scatter pswapaxes ragged_all_to_all with_sharding_constraint",
    ),
    "it never touches a device": _names_in(
        "jax.lax",
        "broadcast_shapes conv_dimension_numbers conv_general_permutations conv_general_shape_tuple "
        "conv_shape_tuple conv_transpose_shape_tuple dtype padtype_to_pads reduce_window_shape_tuple",
    )
    | _names_in(
        "jax.numpy",
        "broadcast_shapes einsum_path get_printoptions iscomplexobj isdtype isrealobj isscalar issubdtype ndim "
        "printoptions promote_types result_type set_printoptions shape size",
    )
    | _names_in("jax.random", "key_dtype key_impl"),
    "it reads a file, a buffer or a text": _names_in(
        "jax.numpy", "from_dlpack frombuffer fromfile fromiter fromstring load"
    ),
    "it returns a function": _names_in("jax.numpy", "frompyfunc vectorize")
    | _names_in("jax.lax", "composite")
    | _names_in(
        "jax.nn.initializers",
        "constant delta_orthogonal glorot_uniform he_normal he_uniform lecun_normal lecun_uniform normal "
        "orthogonal truncated_normal uniform variance_scaling",
    ),
}
"""Why a function can have no recipe. Functions that are not here have none because nobody has written one."""


def aliases(entries: Sequence[Entry], functions: Collection[str]) -> Iterator[Reason]:
    """Yield the other public names of charted functions."""
    for entry in entries:
        if entry["name"] in functions:
            for alias in entry["aliases"]:
                yield entry["name"], alias, "an alias", f"charted as {entry['name']}"


def find_uncharted(entries: Sequence[Entry], functions: Collection[str]) -> Iterator[Reason]:
    """Yield every uncharted name of the modules in ``MODULES``, and the number of names in each other module."""
    reasons = {name: reason for reason, names in REASONS.items() for name in names}
    elsewhere: Counter[str] = Counter()
    for entry in entries:
        name = entry["name"]
        if name in functions:
            continue
        if name.startswith(tuple(f"{module}." for module in MODULES)):
            yield name, "", reasons.get(name, NO_RECIPE), f"a {entry['kind']}"
        else:
            elsewhere[name.rpartition(".")[0] or name] += 1
    for module, count in sorted(elsewhere.items()):
        yield module, "", "a module that is not charted", f"{count} public names"
