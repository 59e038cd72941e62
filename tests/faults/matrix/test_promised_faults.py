"""The page of promises names tests that exist, and every kind of fault that the matrix makes."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.faults.matrix.kinds import KINDS

TESTS = Path(__file__).parents[2]
PAGE = (TESTS.parent / "docs" / "explanation" / "promises.md").read_text()
TEST_IDS = sorted(set(re.findall(r"`([a-z_/]+\.py)::(test_[a-z0-9_]+)`", PAGE)))
FAULTS = set(re.findall(r"(?<!\*)\*([^*|`]+)\*(?!\*)", PAGE))


def test_the_page_names_tests() -> None:
    assert len(TEST_IDS) > len(PAGE.splitlines()) / 8


@pytest.mark.parametrize(("file", "name"), TEST_IDS)
def test_a_test_that_the_page_names_exists(file: str, name: str) -> None:
    module = ast.parse((TESTS / file).read_text())
    functions = (node for node in ast.walk(module) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    assert name in {function.name for function in functions}


def test_files_that_the_page_names_without_a_test_exist() -> None:
    for file in re.findall(r"`([a-z_/]+\.py)`", PAGE):
        assert (TESTS / file).is_file(), file


@pytest.mark.parametrize("fault", [kind.name for kind in KINDS])
def test_a_fault_of_the_matrix_is_on_the_page(fault: str) -> None:
    assert fault in FAULTS
