"""The tests' own layout: pytest finds a file by its bare name, so two of one name hide each other."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

TESTS = Path(__file__).parent.parent
OF_THE_COORDINATOR = ("unit", "integration", "acceptance", "faults", "containers", "browser")
"""Collected together; a framework's own tests are collected alone."""


def test_no_two_test_files_have_one_name() -> None:
    names = Counter(file.name for folder in OF_THE_COORDINATOR for file in (TESTS / folder).rglob("test_*.py"))
    assert [name for name, times in names.items() if times > 1] == []
