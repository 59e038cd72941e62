"""The layout of the tests: no two files of one name, and each test in the folder of what it tests."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parents[2]
OF_THE_COORDINATOR = ("unit", "integration", "acceptance", "faults", "containers", "browser")
"""Collected together; a framework's own tests are collected alone."""
SIDES = ("coordinator", "runners")
WITHOUT_AN_IMPORT = {
    "test_conflicts.py": "deadlocks of what dispatch stores, provoked through the services that the requests use",
    "test_released.py": "the tables of a dump, upgraded and then served",
    "test_views.py": "the views are SQL, read with PostgreSQL's own driver",
}
"""Tests in the folder of what they test that import none of it, and why."""


def test_no_two_test_files_have_one_name() -> None:
    """pytest finds a file by its bare name, so two of one name hide each other."""
    names = Counter(file.name for folder in OF_THE_COORDINATOR for file in (TESTS / folder).rglob("test_*.py"))
    assert [name for name, times in names.items() if times > 1] == []


def test_a_test_stands_in_the_folder_of_what_it_tests() -> None:
    """The folders below ``unit`` and ``integration`` are our packages; a test imports the one that it stands in."""
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
    """The modules of the two sides that a test file imports; none where it only starts processes or reads files."""
    modules: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            modules |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
    return {module for module in modules if module.split(".")[0] in SIDES}
