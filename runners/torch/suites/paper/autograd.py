"""Functions of automatic differentiation: ``autograd.functional.jvp`` and ``autograd.Variable``."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch

from runners.suite.cases import Context, Function, Prepare
from runners.suite.checks import EXACT, Accepted, Mismatch, Tolerance


def of(function: Callable[..., Any]) -> Prepare:
    """Prepare ``jvp`` of ``function``. A case's arguments are the inputs and the direction."""

    def prepare(context: Context, *arguments: Any, **options: Any) -> Callable[[], Any]:
        return partial(context.function, function, *arguments, **options)

    return prepare


def product(a: Any, b: Any) -> Any:
    return a @ b


def product_and_sum(a: Any, b: Any) -> Any:
    return a * b, a + b


def cubed(x: Any) -> Any:
    return x**3


def unrelated(x: Any) -> Any:
    return torch.ones_like(x)


def differentiated_again(context: Context, x: Any, direction: Any) -> Callable[[], Any]:
    """Prepare a ``jvp`` that keeps its graph, and the gradient of its sum."""

    def call() -> list[Any]:
        inputs = x.detach().requires_grad_()
        outputs, along = context.function(cubed, inputs, direction, create_graph=True)
        return [outputs, along, *torch.autograd.grad(along.sum(), inputs)]

    return call


def refusing(context: Context, x: Any, direction: Any) -> Callable[[], Any]:
    def call() -> str:
        try:
            context.function(unrelated, x, direction, strict=True)
        except RuntimeError as error:
            return str(error)
        return "returned"

    return call


def refused(observed: Any, x: Any, direction: Any) -> None:
    if observed == "returned":
        raise Accepted("strict: an output that depends on no input was accepted")
    if "strict mode" not in observed:
        raise Mismatch(f"strict: an output that depends on no input should be refused, got {observed!r}")


jvp = Function("torch.autograd.functional.jvp")
jvp.value(
    "float32-64x128-exp",
    lambda inputs: [inputs.uniform(64, 128, low=-2, high=2), inputs.normal(64, 128)],
    prepare=of(torch.exp),
    reference=lambda x, v: (np.exp(x), np.exp(x) * v),
)
jvp.value(
    "float64-tanh",
    lambda inputs: [inputs.normal(20), inputs.normal(20)],
    dtype="float64",
    prepare=of(torch.tanh),
    reference=lambda x, v: (np.tanh(x), v / np.cosh(x) ** 2),
)
jvp.value(
    "bfloat16-square",
    lambda inputs: [inputs.integers(8) / 4, inputs.integers(8) / 4],
    dtype="bfloat16",
    prepare=of(torch.square),
    reference=lambda x, v: (x * x, 2 * x * v),
)
jvp.value(
    "complex64-square",
    lambda inputs: [inputs.normal(6) + 1j * inputs.normal(6), inputs.normal(6) - 2j],
    dtype="complex64",
    prepare=of(torch.square),
    reference=lambda x, v: (x * x, 2 * x * v),
)
jvp.value(
    "float32-product-of-matrices",
    lambda inputs: [(inputs.normal(6, 5), inputs.normal(5, 4)), (inputs.normal(6, 5), inputs.normal(5, 4))],
    prepare=of(product),
    reference=lambda x, v: (x[0] @ x[1], v[0] @ x[1] + x[0] @ v[1]),
)
jvp.value(
    "several-outputs",
    lambda inputs: [(inputs.normal(7), inputs.normal(7)), (inputs.normal(7), inputs.normal(7))],
    prepare=of(product_and_sum),
    reference=lambda x, v: ((x[0] * x[1], x[0] + x[1]), (v[0] * x[1] + x[0] * v[1], v[0] + v[1])),
)
jvp.value(
    "scalar-output",
    lambda inputs: [inputs.normal(4, 4), inputs.normal(4, 4)],
    prepare=of(lambda x: x.square().sum()),
    reference=lambda x, v: (np.asarray((x * x).sum()), np.asarray(2 * (x * v).sum())),
)
jvp.value(
    "scalar-without-direction",
    lambda inputs: [inputs.normal()],
    prepare=of(torch.sin),
    reference=lambda x: (np.asarray(np.sin(x)), np.asarray(np.cos(x))),
)
jvp.value(
    "independent-output-has-no-slope",
    lambda inputs: [inputs.normal(5), inputs.normal(5)],
    prepare=of(unrelated),
    reference=lambda x, v: (np.ones_like(x), np.zeros_like(x)),
)
jvp.value(
    "matrix-inverse",
    lambda inputs: [0.3 * inputs.normal(4, 4) + 2 * np.eye(4), inputs.normal(4, 4)],
    prepare=of(torch.linalg.inv),
    reference=lambda x, v: (np.linalg.inv(x), -np.linalg.inv(x) @ v @ np.linalg.inv(x)),
    tolerance=Tolerance(1e-4, 1e-5),
)
jvp.value(
    "gathered-rows",
    lambda inputs: [inputs.normal(5, 3), inputs.normal(5, 3)],
    prepare=of(lambda x: x[[4, 0, 4]]),
    reference=lambda x, v: (x[[4, 0, 4]], v[[4, 0, 4]]),
)
jvp.value(
    "largest-of-each-row",
    lambda inputs: [inputs.distinct(6, 9), inputs.normal(6, 9)],
    prepare=of(lambda x: x.max(1).values),
    reference=lambda x, v: (x.max(1), v[np.arange(6), x.argmax(1)]),
)
jvp.value(
    "broadcast",
    lambda inputs: [(inputs.normal(3, 1), inputs.normal(4)), (inputs.normal(3, 1), inputs.normal(4))],
    prepare=of(lambda a, b: a * b),
    reference=lambda x, v: (x[0] * x[1], v[0] * x[1] + x[0] * v[1]),
)
jvp.value(
    "empty", lambda inputs: [inputs.normal(0, 3), inputs.normal(0, 3)], prepare=of(cubed), reference=lambda x, v: (x, v)
)
jvp.value(
    "strict",
    lambda inputs: [inputs.normal(6), inputs.normal(6)],
    prepare=of(cubed),
    reference=lambda x, v, strict: (x**3, 3 * x**2 * v),
    strict=True,
)
jvp.value(
    "graph-kept-for-the-next-derivative",
    lambda inputs: [inputs.normal(6), inputs.normal(6)],
    prepare=differentiated_again,
    reference=lambda x, v: [x**3, 3 * x**2 * v, 6 * x * v],
)
jvp.behaviour(
    "strict-refuses-an-independent-output",
    lambda inputs: [inputs.normal(3), inputs.normal(3)],
    refused,
    prepare=refusing,
    refuses=True,
)
jvp.value(
    "nan-and-infinities-exp",
    lambda inputs: [np.array([np.nan, np.inf, -np.inf, 1.0, 0.5]), np.array([1.0, 2.0, 3.0, np.nan, -np.inf])],
    prepare=of(torch.exp),
    reference=lambda x, v: (np.exp(x), np.exp(x) * v),
)


def described(context: Context, x: Any, **options: Any) -> Callable[[], Any]:
    def call() -> list[Any]:
        variable = context.function(x, **options)
        return [variable, variable.requires_grad, variable.is_leaf]

    return call


def followed(context: Context, x: Any) -> Callable[[], Any]:
    """Prepare a backward pass through a polynomial of the variable."""

    def call() -> list[Any]:
        variable = context.function(x, requires_grad=True)
        outputs = variable**2 + 3 * variable
        outputs.sum().backward()
        found, variable.grad = variable.grad, None
        return [outputs, found]

    return call


def is_a_variable(observed: Any, x: Any) -> None:
    if observed != [True, False]:
        raise Mismatch(f"a tensor is a Variable and a number is not; got {observed}")


variable = Function("torch.autograd.Variable", lambda x, requires_grad=False: [x, requires_grad, True], described)
variable.value("float32-256x256", lambda inputs: [inputs.normal(256, 256)], tolerance=EXACT)
variable.value("float64", lambda inputs: [inputs.normal(5)], dtype="float64", tolerance=EXACT, requires_grad=True)
variable.value("float16", lambda inputs: [inputs.normal(5)], dtype="float16", tolerance=EXACT, requires_grad=True)
variable.value("bfloat16", lambda inputs: [inputs.normal(5)], dtype="bfloat16", tolerance=EXACT, requires_grad=True)
variable.value("complex64", lambda inputs: [inputs.normal(5) + 1j], dtype="complex64", requires_grad=True)
variable.value("int64", lambda inputs: [inputs.integers(3, 4)], dtype="int64")
variable.value("bool", lambda inputs: [inputs.booleans(6)], dtype="bool", requires_grad=False)
variable.value("scalar", lambda inputs: [inputs.normal()], requires_grad=True)
variable.value("empty", lambda inputs: [inputs.normal(0, 2)], requires_grad=True)
variable.value(
    "gradient",
    lambda inputs: [inputs.normal(8, 9)],
    prepare=followed,
    reference=lambda x: [x**2 + 3 * x, 2 * x + 3],
)
variable.value(
    "shares-its-memory",
    lambda inputs: [inputs.normal(4)],
    prepare=lambda context, x: lambda: [context.function(x).fill_(2.5), x],
    in_place=True,
    reference=lambda x: [np.full(4, 2.5)] * 2,
)
variable.behaviour(
    "every-tensor-is-one",
    lambda inputs: [inputs.normal(3)],
    is_a_variable,
    prepare=lambda context, x: lambda: [isinstance(x, context.function), isinstance(1.0, context.function)],
)
variable.value("nan-and-infinities", lambda inputs: [np.array([np.nan, np.inf, -np.inf, 0.5])], tolerance=EXACT)

FUNCTIONS: list[Function] = [jvp, variable]
