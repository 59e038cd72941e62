"""The order of calls in a source: which function receives the result of which function as an argument."""

from __future__ import annotations

import pytest

from coordinator.catalogue.surfaces import open_surface
from freezing.following.__main__ import canonical
from freezing.following.counts import pairs_of
from freezing.following.resolver import Pair, pairs_in

METHODS = {"torch": frozenset({"view", "transpose", "sum"}), "jax": frozenset({"sum"})}


def pairs(source: str) -> dict[Pair, int]:
    return dict(pairs_in(source.encode(), METHODS))


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import torch\ntorch.cumsum(torch.rot90(x, 1), 0)", {("torch.rot90", "torch.cumsum"): 1}),
        ("import torch\ny = torch.exp(x)\nz = torch.log(y)", {("torch.exp", "torch.log"): 1}),
        ("import torch\ny = torch.exp(x)\ny = 3\ntorch.log(y)", {}),
        ("import torch\ntorch.cat([torch.exp(x), y], dim=0)", {("torch.exp", "torch.cat"): 1}),
        ("import torch\ntorch.add(x, alpha=torch.exp(x))", {("torch.exp", "torch.add"): 1}),
        ("import torch\ntorch.exp(x).sum()", {("torch.exp", "torch.Tensor.sum"): 1}),
        ("import torch\nx.view(3).transpose(0, 1)", {("torch.Tensor.view", "torch.Tensor.transpose"): 1}),
        ("import torch\nx.view(3).unheard(0)", {}),
        ("import torch, jax\nx.sum().sum()", {}),
        ("import torch\ntorch.exp(x) * 2", {("torch.exp", "torch.mul"): 1}),
        (
            "import tensorflow as tf\ntf.where(tf.exp(x) < 0, x, x)",
            {("tf.exp", "tf.less"): 1, ("tf.less", "tf.where"): 1},
        ),
        ("import jax.numpy as jnp\n-jnp.exp(x)", {("jax.numpy.exp", "jax.numpy.negative"): 1}),
        ("import torch\ntorch.exp(torch.split(x)[0])", {}),
        ("import torch\ntorch.nn.Linear(1, 2)(torch.exp(x))", {}),
        ("import numpy as np\nimport torch\nnp.exp(x).sum().sum()", {}),
    ],
)
def test_a_result_is_followed_to_the_call_that_takes_it(source: str, found: dict[Pair, int]) -> None:
    assert pairs(source) == found


def test_names_are_those_of_the_surface() -> None:
    surfaces = {"tf": open_surface("tensorflow@2.21.0"), "torch": open_surface("torch@2.9.0")}
    assert canonical("tf.math.reduce_sum", surfaces) == canonical("tf.reduce_sum", surfaces) is not None
    assert canonical("torch.Tensor.view", surfaces) == "torch.Tensor.view"
    assert canonical("torch.nn.Module.train", surfaces) is None
    assert canonical("torch.no_such_function", surfaces) is None


@pytest.mark.parametrize("framework", ["torch", "tensorflow", "jax"])
def test_thousands_of_pairs_are_counted_the_most_frequent_first(framework: str) -> None:
    times = [row[2] for row in pairs_of(framework)]
    assert len(times) >= 1_000
    assert times == sorted(times, reverse=True)
