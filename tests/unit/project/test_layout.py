"""The layout of the tests: no two files have the same name, and each test is in the folder of the code that it
tests."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parents[2]
OF_THE_COORDINATOR = ("unit", "integration", "acceptance", "faults", "containers", "browser")
"""Folders that pytest collects together. A framework's own tests are collected separately."""
SIDES = ("coordinator", "runners")
WITHOUT_AN_IMPORT = {
    "test_conflicts.py": "deadlocks of what dispatch stores, provoked through the services that the requests use",
    "test_released.py": "the tables of a dump, upgraded and then served",
    "test_views.py": "the views are SQL, read with PostgreSQL's own driver",
}
"""Tests that import nothing of the folder in which they are, and the reasons."""


def test_no_two_test_files_have_one_name() -> None:
    """pytest identifies a file by its base name, so two files of one name hide each other."""
    names = Counter(file.name for folder in OF_THE_COORDINATOR for file in (TESTS / folder).rglob("test_*.py"))
    assert [name for name, times in names.items() if times > 1] == []


def test_a_test_stands_in_the_folder_of_what_it_tests() -> None:
    """The folders in ``unit`` and ``integration`` have the names of Portolan's packages. A test imports the package of
    its folder."""
    assert [str(file.relative_to(TESTS)) for file in misplaced_files()] == []


def misplaced_files() -> Iterator[Path]:
    for kind in ("unit", "integration"):
        for side in SIDES:
            for file in sorted((TESTS / kind / side).rglob("test_*.py")):
                package = ".".join(file.parent.relative_to(TESTS / kind).parts)
                is_package = (TESTS.parent / package.replace(".", "/") / "__init__.py").is_file()
                imports = imported_packages(file)
                is_imported = not imports or any(is_within(package, name) for name in imports)
                if not is_package or is_imported is (file.name in WITHOUT_AN_IMPORT):
                    yield file


def is_within(package: str, module: str) -> bool:
    return f"{module}.".startswith(f"{package}.")


def imported_packages(file: Path) -> set[str]:
    """The modules that a test file imports from Portolan; none if it only starts processes or reads files."""
    modules: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            modules |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
    return {module for module in modules if module.split(".")[0] in SIDES}
