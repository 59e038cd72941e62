"""Refusals: cases that expect an error in place of a result, told from the others by what their functions do."""

from __future__ import annotations

import builtins
import dataclasses
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any

import pytest

from protocol.enums import Ending
from runners.suite.cases import Case
from runners.suite.device import Device
from tests.frameworks.common.running import run
from tests.frameworks.common.subject import Subject

ERRORS: tuple[Callable[[], Exception], ...] = (
    lambda: ValueError("refused"),
    lambda: TypeError("refused"),
    lambda: AssertionError("refused"),
    lambda: NotImplementedError("refused"),
)


def assert_marked(cpu: Device, case: Case, subject: Subject) -> None:
    """A case is marked as a refusal if, and only if, its function raises and it passes all the same."""
    try:
        function = cpu.lookup(case.looked_up)
    except LookupError:
        pytest.skip("this version does not have its function")
    raises = _passes_where_it_raises(cpu, case, function)
    if case.refuses:
        assert raises, "it is marked as a refusal, and its function returns"
        assert not _passes(cpu, case, lambda *arguments, **options: None), "it expects no error: it passes on None"
    else:
        assert not raises, "its function raises, it passes, and it is not marked as a refusal"
        errors = [error() for error in (*ERRORS, *subject.errors)]
        satisfied = [error for error in errors if _passes(cpu, case, _raising(error))]
        assert not satisfied or case.id in subject.failed_by, "it passes on a function that only raises"
        assert satisfied or case.id not in subject.failed_by, "it fails by now: take the case off the list"


def _passes_where_it_raises(cpu: Device, case: Case, function: Any) -> bool:
    """Whether every call of the function raised, or the names of errors are what the case looks at."""
    ends: list[bool] = []
    observations: list[Any] = []

    def check(observed: Any, *arguments: Any, **options: Any) -> None:
        observations.append(observed)
        assert case.check is not None
        case.check(observed, *arguments, **options)

    # A class stays what others derive from.
    watched = case.given if isinstance(function, type) else _watched(function, ends)
    changes = {"check": check} if case.check is not None else {}
    if not _passes(cpu, dataclasses.replace(case, **changes), watched):
        pytest.skip("it has no right result here; test_cases.py names those that may not")
    return (bool(ends) and not any(ends)) or any(map(_is_error, _texts(observations)))


def _passes(cpu: Device, case: Case, function: Callable[..., Any] | None) -> bool:
    return run(cpu, dataclasses.replace(case, given=function)).ending is Ending.returned


def _watched(function: Any, ends: list[bool]) -> Any:
    """The function, which notes of each call whether it returned."""

    @wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        ends.append(False)
        result = function(*arguments, **options)
        ends[-1] = True
        return result

    return call


def _raising(error: Exception) -> Callable[..., Any]:
    def refuse(*arguments: Any, **options: Any) -> Any:
        raise error

    return refuse


def _texts(tree: Any) -> Iterator[str]:
    if isinstance(tree, str):
        yield tree
    elif isinstance(tree, (list, tuple)):
        for branch in tree:
            yield from _texts(branch)


def _is_error(text: str) -> bool:
    named = getattr(builtins, text, None)
    return isinstance(named, type) and issubclass(named, BaseException)
