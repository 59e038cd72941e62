"""The list of runners on the terminal."""

from __future__ import annotations

from typing import Any

import pytest

from coordinator.cli.runner_commands import environment_of
from coordinator.registry.models import Runner

LACKING = {"torch": "2.9.0", "CUDA": "not installed, stubs of 14 libraries"}


@pytest.mark.parametrize(
    ("fingerprint", "words"),
    [
        ({"libraries": LACKING}, "0123; CUDA not installed, stubs of 14 libraries"),
        ({"libraries": {"torch": "2.9.0"}}, "0123"),
        ({}, "0123"),
    ],
)
def test_an_environment_is_shown_with_what_it_goes_without(fingerprint: dict[str, Any], words: str) -> None:
    assert environment_of(Runner.model_construct(environment="0123", fingerprint=fingerprint)) == words
