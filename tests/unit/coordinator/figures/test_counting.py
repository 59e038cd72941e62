"""Counting rules: how a function's counts are stored and read, and the sentences about the rules."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from pathlib import Path

import pytest

from coordinator.errors import UnknownNameError
from coordinator.figures.cell import Figures
from coordinator.figures.counting import NAMES, RULES, counts_of, rule_named
from tests.unit.coordinator.cells import cell, counts

ROOT = Path(__file__).resolve().parents[4]
COORDINATOR = ROOT / "coordinator"


def test_a_rule_is_found_by_its_name_and_an_unknown_name_is_answered_with_all() -> None:
    assert [rule_named(name) for name in NAMES] == list(RULES)
    assert len(set(NAMES)) == len(NAMES)
    with pytest.raises(UnknownNameError, match=f"counting rule 'upside_down'; choose one of: {', '.join(NAMES)}"):
        rule_named("upside_down")


def test_counts_are_read_as_they_were_stored_and_no_cause_is_stored_as_nothing() -> None:
    partial = counts("partial", 2, 3, "type")
    stored_counts = {"anywhere": asdict(partial), "on_device": {**asdict(counts("success", 2, 2))}}
    del stored_counts["on_device"]["cause"]
    assert counts_of(json.dumps(stored_counts)) == {"anywhere": partial, "on_device": counts("success", 2, 2)}


def test_a_line_has_the_counts_of_every_rule_under_its_name() -> None:
    line = cell(counts("partial", 2, 3, "type"), None).columns()
    assert (line["verdict"], line["passed"], line["cause"]) == ("partial", 2, "type")
    assert {line[f"verdict{rule.suffix}"] for rule in RULES[1:]} == {None}
    assert (line["host_only"], line["skipped"], "counts" in line) == (True, 0, False)


def test_the_figures_of_a_cell_are_listed_once_beside_the_views_that_compute_them() -> None:
    """Every other module names only the figures that it uses."""
    figures = set(Figures.model_fields)
    lists = {
        path.relative_to(COORDINATOR).as_posix()
        for path in COORDINATOR.rglob("*.py")
        if len(figures & set(re.findall(r"\w+", path.read_text()))) > 2 / 3 * len(figures)
    }
    assert lists == {"figures/cell.py", "database/views.py"}
