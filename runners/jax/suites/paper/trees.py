"""Cases of trees of containers, and of functions that are trees: ``tree_util.tree_map``, ``tree_unflatten``,
``Partial``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from runners.suite.cases import Context, Function, Prepare
from runners.suite.checks import require_refusal
from runners.suite.sequences import aligned


class Pair(NamedTuple):
    left: Any
    right: Any


def with_function(function: Callable[..., Any], **fixed: Any) -> Prepare:
    """Return a ``prepare`` that passes ``function`` first. A case's arguments are the trees."""
    return lambda context, *trees, **options: lambda: context.function(function, *trees, **fixed, **options)


def params(inputs: Any) -> Any:
    return {"dense": [inputs.normal(4, 3), inputs.normal(3)], "scale": (inputs.normal(), {"deep": inputs.normal(2, 2)})}


def doubled(tree: Any) -> Any:
    """Double a tree explicitly, container by container."""
    dense, (scale, deep) = tree["dense"], tree["scale"]
    return {"dense": [2 * array for array in dense], "scale": (2 * scale, {"deep": 2 * deep["deep"]})}


tree_map = Function(
    "jax.tree_util.tree_map",
    prepare=with_function(lambda x: 2 * x),
)
tree_map.value("nested", lambda inputs: [params(inputs)], reference=doubled)
tree_map.value("one-array", lambda inputs: [inputs.normal(64, 128)], reference=lambda x: 2 * x)
tree_map.value(
    "two-trees",
    lambda inputs: [params(inputs), params(inputs)],
    prepare=with_function(lambda x, y: x - 0.1 * y),
    reference=lambda one, other: {
        "dense": [x - 0.1 * y for x, y in aligned(one["dense"], other["dense"])],
        "scale": (
            one["scale"][0] - 0.1 * other["scale"][0],
            {"deep": one["scale"][1]["deep"] - 0.1 * other["scale"][1]["deep"]},
        ),
    },
)
tree_map.value(
    "python-numbers", lambda inputs: [{"a": [1, 2.5], "b": ()}], reference=lambda tree: {"a": [2, 5.0], "b": ()}
)
tree_map.value(
    "none-is-no-leaf", lambda inputs: [[None, inputs.normal(5), None]], reference=lambda tree: [None, 2 * tree[1], None]
)
tree_map.value(
    "lists-as-leaves",
    lambda inputs: [{"a": [inputs.normal(3), inputs.normal(3)], "b": [inputs.normal(4)]}],
    prepare=with_function(lambda node: node[::-1], is_leaf=lambda node: isinstance(node, list)),
    reference=lambda tree: {"a": tree["a"][::-1], "b": tree["b"]},
)


def of_named(context: Context, *arrays: Any) -> Callable[[], Any]:
    return lambda: context.function(lambda x: x + 1, Pair(*arrays))._asdict()


tree_map.value(
    "named-tuple",
    lambda inputs: [inputs.normal(3), inputs.normal(4)],
    prepare=of_named,
    reference=lambda left, right: {"left": left + 1, "right": right + 1},
)


def within_jit(context: Context, tree: Any) -> Callable[[], Any]:
    """Prepare a compiled function whose argument and result are containers. Arrays must not be treated as
    containers."""
    compiled = jax.jit(lambda given: context.function(lambda x: 2 * x, given))
    return lambda: compiled(tree)


tree_map.value("jitted", lambda inputs: [params(inputs)], prepare=within_jit, reference=doubled)


def refusal(context: Context, *arguments: Any) -> Callable[[], Any]:
    """Prepare the name of the error for trees with different structures."""

    def call() -> Any:
        try:
            context.function(lambda *leaves: leaves, *arguments)
        except Exception as error:
            return type(error).__name__
        return None

    return call


def assert_refused(error: Any, *arguments: Any) -> None:
    require_refusal(error, "ValueError", "TypeError")


tree_map.behaviour(
    "unlike-trees-are-refused",
    lambda inputs: [{"a": inputs.normal(2), "b": 1.0}, {"a": inputs.normal(2)}],
    assert_refused,
    prepare=refusal,
    refuses=True,
)


def rebuilt_as(template: Any) -> Prepare:
    """Return a ``prepare`` that builds a tree with the structure of ``template``. A case's arguments are the leaves."""

    def prepare(context: Context, *leaves: Any) -> Callable[[], Any]:
        structure = jax.tree_util.tree_structure(template)
        return lambda: context.function(structure, list(leaves))

    return prepare


def three(inputs: Any) -> Any:
    return [inputs.normal(4, 3), inputs.normal(3), inputs.normal()]


tree_unflatten = Function("jax.tree_util.tree_unflatten")
# The leaves of a dictionary are in the order of its keys, for any order in the source.
tree_unflatten.value(
    "dictionary-by-its-keys",
    three,
    prepare=rebuilt_as({"c": 0, "a": 0, "b": 0}),
    reference=lambda x, y, z: {"a": x, "b": y, "c": z},
)
tree_unflatten.value(
    "nested",
    three,
    prepare=rebuilt_as([(0, {"k": 0}), [], 0]),
    reference=lambda x, y, z: [(x, {"k": y}), [], z],
)
tree_unflatten.value(
    "none-stays",
    lambda inputs: [inputs.normal(4)],
    prepare=rebuilt_as((None, [0, None])),
    reference=lambda x: (None, [x, None]),
)
tree_unflatten.value(
    "python-leaves",
    lambda inputs: [1, 2.5],
    prepare=rebuilt_as({"x": 0, "y": [0]}),
    reference=lambda x, y: {"x": x, "y": [y]},
)


def kept_type(context: Context, *leaves: Any) -> Callable[[], Any]:
    structure = jax.tree_util.tree_structure(Pair(0, [0]))

    def call() -> Any:
        pair = context.function(structure, leaves)
        return [type(pair).__name__, pair.left, pair.right]

    return call


tree_unflatten.value(
    "named-tuple-keeps-its-type",
    lambda inputs: [inputs.normal(3), inputs.normal(4)],
    prepare=kept_type,
    reference=lambda left, right: ["Pair", left, [right]],
)


def with_leaves(context: Context, *leaves: Any) -> Callable[[], Any]:
    structure = jax.tree_util.tree_structure((0, 0))

    def call() -> Any:
        try:
            context.function(structure, list(leaves))
        except Exception as error:
            return type(error).__name__
        return None

    return call


tree_unflatten.behaviour("too-many-leaves-are-refused", three, assert_refused, prepare=with_leaves, refuses=True)


def affine(scale: Any, offset: Any, x: Any) -> Any:
    return scale * x + offset


def held(context: Context, scale: Any, offset: Any, x: Any) -> Callable[[], Any]:
    return lambda: context.function(affine, scale, offset)(x)


def held_by_name(context: Context, scale: Any, offset: Any, x: Any) -> Callable[[], Any]:
    return lambda: context.function(affine, offset=offset, scale=scale)(x=x)


def held_twice(context: Context, scale: Any, offset: Any, x: Any) -> Callable[[], Any]:
    return lambda: context.function(context.function(affine, scale), offset)(x)


def passed_to_jit(context: Context, scale: Any, offset: Any, x: Any) -> Callable[[], Any]:
    """Prepare a compiled function whose argument is a function that holds arrays. Other arrays need no new
    compilation."""
    compiled = jax.jit(lambda function, x: function(x))
    return lambda: compiled(context.function(affine, scale, offset), x)


def mapped_over(context: Context, scale: Any, offset: Any, x: Any) -> Callable[[], Any]:
    """Prepare a function whose arrays are leaves. Doubling the arrays doubles its result."""
    return lambda: jax.tree_util.tree_map(lambda leaf: 2 * leaf, context.function(affine, scale, offset))(x)


def derived(context: Context, scale: Any, offset: Any, x: Any) -> Callable[[], Any]:
    """Prepare the derivative with respect to the arrays of a function. It has the structure of the function."""

    def call() -> Any:
        function = context.function(affine, scale, offset)
        return list(jax.tree_util.tree_leaves(jax.grad(lambda held: jnp.sum(held(x)))(function)))

    return call


def triple(inputs: Any) -> Any:
    return [inputs.normal(64, 32), inputs.normal(64, 32), inputs.normal(64, 32)]


partial = Function(
    "jax.tree_util.Partial",
    affine,
    prepare=held,
)
partial.value("positional", triple)
partial.value("by-name", triple, prepare=held_by_name)
partial.value("of-a-partial", triple, prepare=held_twice)
partial.value("argument-of-jit", triple, prepare=passed_to_jit)
partial.value("mapped-over", triple, prepare=mapped_over, reference=lambda a, b, x: 2 * (a * x + b))
partial.value("float64", triple, dtype="float64")


def assert_leaves(leaves: Any, scale: Any, offset: Any, x: Any) -> None:
    assert len(leaves) == 2, f"{len(leaves)} leaves"
    for leaf, wanted in aligned(leaves, (scale, offset)):
        assert np.array_equal(leaf.values, wanted.astype(leaf.values.dtype))


def assert_derivatives(leaves: Any, scale: Any, offset: Any, x: Any) -> None:
    assert len(leaves) == 2, f"{len(leaves)} leaves"
    for leaf, wanted in aligned(leaves, (x, np.ones_like(x))):
        assert np.allclose(leaf.values, wanted, rtol=1e-5)


partial.behaviour(
    "its-leaves-are-what-it-holds",
    triple,
    assert_leaves,
    prepare=lambda context, *arrays: lambda: jax.tree_util.tree_leaves(context.function(affine, *arrays[:2])),
)
partial.behaviour("derivative-by-what-it-holds", triple, assert_derivatives, prepare=derived)


def compiled_once(context: Context, scale: Any, offset: Any, x: Any) -> Callable[[], Any]:
    def call() -> Any:
        traced: list[None] = []

        def applied(function: Any, x: Any) -> Any:
            traced.append(None)
            return function(x)

        compiled = jax.jit(applied)
        for factor in (1, 2, 3):
            compiled(context.function(affine, factor * scale, offset), x)
        return len(traced)

    return call


def assert_once(count: Any, *arrays: Any) -> None:
    assert count == 1, f"traced {count} times"


partial.behaviour("other-values-need-no-new-compilation", triple, assert_once, prepare=compiled_once)

FUNCTIONS: list[Function] = [tree_map, tree_unflatten, partial]
