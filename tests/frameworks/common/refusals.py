"""Refusals: cases that expect an error instead of a result. They are recognized by what their functions do."""

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
    """Check that a case is marked as a refusal exactly if it expects only an error from its function."""
    try:
        function = cpu.lookup(case.looked_up)
    except LookupError:
        pytest.skip("this version does not have its function")
    errors = _errors_met(cpu, case, function)
    if case.refuses:
        assert errors.some is (case.id not in subject.refused_later), "a marked case meets an error, or its reason"
        assert not _passes(cpu, case, lambda *arguments, **options: None), "it is marked, and passes on None"
    else:
        assert not errors.alone, "its function does nothing but raise, it passes, and it is not marked as a refusal"
        instances = [error() for error in (*ERRORS, *subject.errors)]
        passing = [error for error in instances if _passes(cpu, case, _raising(error))]
        assert not passing, "it passes on a function that does nothing but raise, and is not marked as a refusal"


@dataclasses.dataclass(frozen=True)
class ErrorsMet:
    """The errors that a passing case met: raised by calls of its function, or named by its check."""

    some: bool
    alone: bool
    """Whether the case met only errors."""


def _errors_met(cpu: Device, case: Case, function: Any) -> ErrorsMet:
    ends: list[bool] = []
    observations: list[Any] = []

    def check(result: Any, *arguments: Any, **options: Any) -> None:
        observations.append(result)
        assert case.check is not None
        case.check(result, *arguments, **options)

    # A class stays what others derive from: what it does is seen in the observations alone.
    is_class = isinstance(function, type)
    function_or_watch = case.given if is_class else _watch(function, ends)
    changes = {"check": check} if case.check is not None else {}
    if not _passes(cpu, dataclasses.replace(case, **changes), function_or_watch):
        pytest.skip("it has no right result here; test_cases.py names those that may not")
    is_error_name = [_is_error(leaf) for leaf in _leaves(observations)]
    only_raised = bool(ends) and not any(ends)
    only_named = is_class and bool(is_error_name) and all(is_error_name)
    return ErrorsMet(some=only_raised or any(is_error_name), alone=only_raised or only_named)


def _passes(cpu: Device, case: Case, function: Callable[..., Any] | None) -> bool:
    return run(cpu, dataclasses.replace(case, given=function)).ending is Ending.returned


def _watch(function: Any, ends: list[bool]) -> Any:
    """Wrap the function so that it records for each call whether the call returned."""

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


def _leaves(tree: Any) -> Iterator[Any]:
    if isinstance(tree, (list, tuple)):
        for branch in tree:
            yield from _leaves(branch)
    else:
        yield tree


def _is_error(leaf: Any) -> bool:
    builtin = getattr(builtins, leaf, None) if isinstance(leaf, str) else None
    return isinstance(builtin, type) and issubclass(builtin, BaseException)
