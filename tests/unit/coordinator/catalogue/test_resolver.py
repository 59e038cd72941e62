"""The resolver: which uses of a framework's names it finds in a source, and how certain each is."""

from __future__ import annotations

import pytest

from coordinator.catalogue.usage.resolver import Uses, uses_of

METHODS = {"torch": frozenset({"view", "split"}), "tf": frozenset({"numpy"})}


def uses(source: str) -> Uses:
    return uses_of(source.encode(), METHODS)


@pytest.mark.parametrize(
    ("source", "resolved_uses"),
    [
        ("import torch\ntorch.add(1, 2)", {"torch.add": 1}),
        ("import torch.nn.functional as F\nF.relu(x); F.relu(y)", {"torch.nn.functional.relu": 2}),
        ("import torch.nn.functional\ntorch.nn.functional.relu(x)", {"torch.nn.functional.relu": 1}),
        ("from torch import nn\nclass M(nn.Module): ...", {"torch.nn.Module": 1}),
        ("from torch.nn import Linear as L\nL(3, 4)", {"torch.nn.Linear": 1}),
        ("import torch\nadd = torch.add\nadd(1, 2)", {"torch.add": 2}),
        ("import torch\nnn = torch.nn\nnn.ReLU()", {"torch.nn": 1, "torch.nn.ReLU": 1}),
        ("import tensorflow as tf\ntf.cast(x, tf.float32)", {"tf.cast": 1, "tf.float32": 1}),
        ("import tensorflow.compat.v1 as tf\ntf.Session()", {"tf.compat.v1.Session": 1}),
        ("import jax.numpy as jnp\ndef f(x):\n    return jnp.sum(x)", {"jax.numpy.sum": 1}),
        ("try:\n    import torch\nexcept ImportError:\n    torch = None\ntorch.add", {"torch.add": 1}),
        ("import torch\ntorch = other()\ntorch.add(1)", {}),
        ("import torch\ndef f(torch):\n    return torch.add(1)", {}),
        ("import torch\n[torch.add for torch in y]\ntorch.mul", {"torch.mul": 1}),
        ("from . import torch\ntorch.add(1)", {}),
        ("import mytorch as torch\ntorch.add(1)", {}),
        ("import torch\n@torch.no_grad()\ndef f(): ...", {"torch.no_grad": 1}),
    ],
)
def test_names_are_followed_through_imports_and_assignments(source: str, resolved_uses: dict[str, int]) -> None:
    assert dict(uses(source).resolved) == resolved_uses


def test_a_member_is_typed_where_the_class_of_its_receiver_is_known() -> None:
    source_uses = uses(
        "import torch\n"
        "x = torch.zeros(3)\nx.view(1)\n"
        "layer = torch.nn.Linear(1, 2)\nlayer.parameters()\n"
        "def f(y: torch.Tensor, z):\n    y.add_(1)\n    z.format(1)\n"
        "torch.ones(2).sum()\n"
    )
    assert dict(source_uses.typed) == {
        "torch.Tensor.view": 1,
        "torch.nn.Linear.parameters": 1,
        "torch.Tensor.add_": 1,
        "torch.Tensor.sum": 1,
    }
    assert not source_uses.guessed


def test_a_member_is_guessed_by_what_made_its_receiver_or_by_its_name_alone() -> None:
    source_uses = uses("import torch\nx = torch.add(a, b)\nx.mul(2)\ndef f(z):\n    z.view(3)\n    z.unheard(3)\n")
    assert dict(source_uses.guessed) == {"torch.Tensor.mul": 1, "torch.Tensor.view": 1}
    assert not source_uses.typed


def test_receivers_that_are_none_of_a_framework_are_not_guessed() -> None:
    source_uses = uses(
        "import torch\nimport numpy as np\n'a b'.split()\nnp.zeros(3).view(1)\nself.view(1)\n[1].view()\n"
        "class M:\n    def f(self):\n        self.view(2)\n"
    )
    assert not source_uses.guessed


def test_a_name_alone_says_nothing_where_two_frameworks_are_used() -> None:
    assert not uses("import torch, tensorflow\ndef f(x):\n    x.view(1)").guessed


def test_a_star_is_counted_and_not_followed() -> None:
    source_uses = uses("from torch.nn import *\nLinear(1, 2)")
    assert (source_uses.star_imports, dict(source_uses.resolved), source_uses.frameworks) == (1, {}, {"torch"})
