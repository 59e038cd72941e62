"""Names of targets: common names are known without starting a process of the runners."""

from __future__ import annotations

import sys

import pytest

from coordinator.cli.target_names import KNOWN_TARGETS, complaint_about


def test_usual_names_are_known_without_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    assert complaint_about(KNOWN_TARGETS) is None


def test_a_misspelt_name_beside_usual_ones_is_named() -> None:
    assert "torch/xlaa" in str(complaint_about([*KNOWN_TARGETS, "torch/xlaa"]))
