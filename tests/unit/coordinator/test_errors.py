"""The tree of errors of each side is complete, and each error has an HTTP status and an exit code."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from types import ModuleType

import pytest

import coordinator.errors
import runners.errors
import runners.suite.device  # an error of the runner's tree stands there

ROOT = Path(__file__).parents[3]
SIDES = [
    pytest.param(coordinator.errors, coordinator.errors.PortolanError, id="coordinator"),
    pytest.param(runners.errors, runners.errors.RunnerError, id="runners"),
]


def tree(error: type) -> Iterator[type]:
    """Every error of the tree."""
    yield error
    for child in error.__subclasses__():
        yield from tree(child)


def exceptions(side: str) -> dict[str, Path]:
    """The exception classes of a side, with the file of each, found without running the code."""
    bases = {
        definition.name: ({ast.unparse(base).split(".")[-1] for base in definition.bases}, file)
        for file in sorted((ROOT / side).rglob("*.py"))
        for definition in ast.walk(ast.parse(file.read_text()))
        if isinstance(definition, ast.ClassDef)
    }
    raisable = {
        name
        for name in dir(builtins)
        if isinstance(kind := getattr(builtins, name), type) and issubclass(kind, BaseException)
    }
    while more := {name for name, (above, _) in bases.items() if above & raisable} - raisable:
        raisable |= more
    return {name: file for name, (_, file) in bases.items() if name in raisable}


@pytest.mark.parametrize(("module", "base"), SIDES)
def test_every_error_of_a_side_is_in_its_tree_or_private_to_its_module(module: ModuleType, base: type) -> None:
    side = module.__name__.partition(".")[0]
    tree_names = {error.__name__ for error in tree(base)}
    files_by_name = exceptions(side)
    assert tree_names <= set(files_by_name)
    # The failed check of a case is a verdict on the function, which Python's own `assert` gives as well; so is the
    # result of a call that has to be refused.
    verdicts = {"Mismatch", "Accepted"}
    assert {
        name: file for name, file in files_by_name.items() if name not in tree_names | verdicts and name[0] != "_"
    } == {}
    # That a device is not there is said by packages of accelerators, in the words of the suite's public interface.
    public = {"DeviceUnavailableError"}
    assert {files_by_name[name] for name in tree_names - public} == {Path(module.__file__ or "")}


@pytest.mark.parametrize(("module", "base"), SIDES)
def test_every_error_becomes_a_status_and_an_exit_code(module: ModuleType, base: type) -> None:
    for error in tree(base):
        assert 400 <= error.status <= 599  # type: ignore[attr-defined]
        assert error.exit_code == 2  # type: ignore[attr-defined]
        assert error.__doc__


@pytest.mark.parametrize(("module", "base"), SIDES)
def test_an_error_says_each_thing_once(module: ModuleType, base: type) -> None:
    """If an error is raised without a message, its message is its whole docstring."""
    for error in tree(base):
        sentences = [set(sentence.lower().split()) for sentence in (error.__doc__ or "").split(".")]
        for one, other in combinations(filter(None, sentences), 2):
            assert 2 * len(one & other) <= max(len(one), len(other)), f"{error.__name__} repeats itself"
