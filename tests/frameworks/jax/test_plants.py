"""Fallbacks of every kind that JAX has are detected, and similar calls without a fallback are not reported."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from protocol.enums import Placement, Verdict
from protocol.outcomes import Outcome
from tests.frameworks.jax.plants import HONEST, PLANTS

ROOT = Path(__file__).parents[3]
OutcomeByName = dict[str, Any]


@pytest.fixture(scope="module")
def outcomes() -> OutcomeByName:
    """The outcome of every call, on the second of two devices (``plants.py``)."""
    command = [sys.executable, "-m", "tests.frameworks.jax.plants"]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert answer.returncode == 0, answer.stderr[-4000:]
    return dict(json.loads(answer.stdout.splitlines()[-1]))


@pytest.mark.parametrize("name", PLANTS)
def test_a_planted_fallback_is_seen(outcomes: OutcomeByName, name: str) -> None:
    outcome = Outcome.model_validate(outcomes[name])
    assert (outcome.verdict, outcome.placement) == (Verdict.passed, Placement.fell_back), outcome
    assert outcome.proof.fallbacks


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_call_is_not_accused(outcomes: OutcomeByName, name: str) -> None:
    outcome = Outcome.model_validate(outcomes[name])
    assert (outcome.verdict, outcome.placement) == (Verdict.passed, Placement.on_device), outcome
    assert outcome.proof.fallbacks == {}
    assert outcome.proof.executed


def test_where_nothing_executed_nothing_is_claimed(outcomes: OutcomeByName) -> None:
    outcome = Outcome.model_validate(outcomes["nothing"])
    assert (outcome.verdict, outcome.placement, outcome.proof.executed) == (Verdict.passed, Placement.unknown, 0)
