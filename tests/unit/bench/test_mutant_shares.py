"""The bench's shares of mutants: one for cases that compare values, one for frozen gradients."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from bench.truth import mutants


def trials() -> Any:
    def outcomes(case: Any) -> Iterator[tuple[str, bool]]:
        yield "a value off", True
        yield "gradients off", case.id != "small"

    cases = [SimpleNamespace(id=name) for name in ("large", "small")]
    return SimpleNamespace(cases=cases[:1], gradients=cases, of=outcomes, of_gradient=outcomes)


def test_values_and_frozen_gradients_have_a_share_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mutants, "_trials", lambda framework: trials())
    monkeypatch.setenv(mutants.SEED, "32")
    of_values, of_gradients = mutants.scores("jax")
    assert (of_values.name, of_values.value, of_values.met) == ("mutants_jax", 1.0, True)
    assert (of_gradients.name, of_gradients.value, of_gradients.met) == ("mutants_of_gradients_jax", 0.75, False)
    assert of_gradients.detail["missed"] == ["small: gradients off"]
    assert of_gradients.detail["operators"] == {"a value off": "2 of 2", "gradients off": "1 of 2"}
    assert (of_gradients.detail["seed"], of_gradients.detail["of"]) == (32, 2)
