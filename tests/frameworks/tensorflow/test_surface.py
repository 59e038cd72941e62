"""The enumeration of the installed TensorFlow has the expected entries, and uses no device."""

from __future__ import annotations

from typing import Any

import pytest

from tests.frameworks.common.surface import initialised_after, walk


@pytest.fixture(scope="module")
def surface() -> dict[str, Any]:
    return walk("tensorflow")


def test_known_functions_classes_and_members_are_listed(surface: dict[str, Any]) -> None:
    entries = surface["entries"]
    assert "tf.add" in entries
    assert "tf.math.add" in entries["tf.add"]["aliases"]
    assert entries["tf.Variable"]["kind"] == "class"
    assert entries["tf.keras.Model"]["kind"] == "class"
    assert "tf.compat.v1.Session" in entries
    assert not [name for name in entries if name.startswith(("tf.python.", "tf.compat.v2."))]


def test_no_device_is_initialised() -> None:
    question = "from tensorflow.python.eager import context; print(context.context()._initialized)"
    assert initialised_after("tensorflow", question) == "False"
