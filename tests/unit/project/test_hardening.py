"""Every setting on the page about hardening has tests, and each of these tests exists."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "explanation" / "hardening.md").read_text()


def rows(columns: int) -> list[list[str]]:
    """The rows of the table with this many columns, without its heading."""
    lines = [line.strip("|").split("|") for line in PAGE.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line] for line in lines if len(line) == columns][2:]


def test_every_setting_names_a_test_and_every_test_is_named() -> None:
    setting_numbers = {int(number) for number, _ in rows(2)}
    numbers_of_tests = [{int(part) for part in numbers.split(",")} for *_, numbers in rows(5)]
    assert len(numbers_of_tests) > 10
    assert all(numbers_of_tests)
    assert set().union(*numbers_of_tests) == setting_numbers


def test_every_test_that_is_named_exists() -> None:
    missing = []
    for _, cell in rows(2):
        file, names = cell.split(" · ")
        source = (ROOT / file.strip("`")).read_text()
        missing += [name for name in names.split(", ") if not re.search(rf"def test_{name}\(", source)]
    assert missing == []
