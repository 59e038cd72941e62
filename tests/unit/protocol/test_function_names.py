"""Similar names: names with the same ending come first, and only names nearly as similar as the most similar are
suggested."""

from __future__ import annotations

import pytest

from protocol.function_names import close_names

KNOWN = ["jax.numpy.cumsum", "torch.argsort", "torch.cat", "torch.cumsum", "torch.diag", "torch.nn.Linear"]


@pytest.mark.parametrize(
    ("name", "close"),
    [
        ("cumsum", ["torch.cumsum", "jax.numpy.cumsum"]),
        ("np.cumsum", ["jax.numpy.cumsum", "torch.cumsum"]),
        ("torch.argsrt", ["torch.argsort"]),
        ("torch.Linear", ["torch.nn.Linear"]),
        ("torch.cumsum*", ["torch.cumsum"]),
        ("zzz", []),
    ],
)
def test_close_names(name: str, close: list[str]) -> None:
    assert close_names(name, KNOWN) == close
