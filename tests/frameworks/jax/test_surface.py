"""The enumeration of the installed JAX has the expected entries, and uses no device."""

from __future__ import annotations

from typing import Any

import pytest

from tests.frameworks.common.surface import initialised_after, walk


@pytest.fixture(scope="module")
def surface() -> dict[str, Any]:
    return walk("jax")


def test_known_functions_classes_and_members_are_listed(surface: dict[str, Any]) -> None:
    entries = surface["entries"]
    assert entries["jax.numpy.add"]["kind"] == "function"
    assert entries["jax.jit"]["kind"] == "function"
    assert entries["jax.Array.reshape"]["kind"] == "method"
    assert not [name for name in entries if "._" in name]
    assert not [name for name in entries if name.startswith("jax.extend.mlir")]


def test_no_backend_is_initialised() -> None:
    question = "from jax._src import xla_bridge; print(bool(xla_bridge._backends))"
    assert initialised_after("jax", question) == "False"
