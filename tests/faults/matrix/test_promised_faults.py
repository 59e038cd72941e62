"""The page of promises names existing tests, and every kind of fault of the matrix."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from tests.each import check_each
from tests.faults.matrix.kinds import KINDS
from tests.parts.rotation import PROMISES, TEST_ID

TESTS = Path(__file__).parents[2]
PAGE = PROMISES.read_text()
TEST_IDS = sorted(set(re.findall(TEST_ID, PAGE)))
FAULTS = set(re.findall(r"(?<!\*)\*([^*|`]+)\*(?!\*)", PAGE))


def test_the_page_names_tests() -> None:
    assert len(TEST_IDS) > len(PAGE.splitlines()) / 8


def test_a_test_that_the_page_names_exists() -> None:
    check_each(TEST_IDS, lambda test: function_of(*test), name="::".join)


def test_every_promise_has_a_test_that_every_change_runs() -> None:
    section = PAGE.split("\n## The promises\n")[1].split("\n## ")[0]
    promises = [line for line in section.splitlines() if re.match(r"\| \d+ \|", line)]
    assert len(promises) >= 13
    check_each(promises, check_some_test_is_of_level_1, name=lambda promise: promise.split("|")[2].strip())


def check_some_test_is_of_level_1(promise: str) -> None:
    assert any(is_of_level_1(*test) for test in re.findall(TEST_ID, promise))


def is_of_level_1(file: str, name: str) -> bool:
    """Whether neither the test nor its file needs level 2. A draw always keeps one of each function's parameters."""
    module = ast.parse((TESTS / file).read_text())
    of_file = [ast.unparse(node) for node in module.body if isinstance(node, ast.Assign)]
    marks = [ast.unparse(mark) for mark in function_of(file, name).decorator_list]
    is_drawn = any(".drawn(" in mark for mark in marks) and not any(".parametrize(" in mark for mark in marks)
    return not is_drawn and not any(".level(" in text for text in (*marks, *of_file))


def function_of(file: str, name: str) -> ast.FunctionDef | ast.AsyncFunctionDef:
    module = ast.parse((TESTS / file).read_text())
    functions = [node for node in ast.walk(module) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return next(function for function in functions if function.name == name)


def test_files_that_the_page_names_without_a_test_exist() -> None:
    for file in re.findall(r"`([a-z_/]+\.py)`", PAGE):
        assert (TESTS / file).is_file(), file


def test_every_fault_of_the_matrix_is_on_the_page() -> None:
    assert sorted({kind.name for kind in KINDS} - FAULTS) == []
