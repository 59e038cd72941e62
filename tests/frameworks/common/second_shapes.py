"""Assertions about the cases with a second shape: which functions have such a case, and which errors it detects."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from protocol.enums import RECOMPILED, Ending
from runners.suite.cases import Case
from runners.suite.device import Device
from runners.suite.framework import Framework
from tests.frameworks.common.running import cases, run


def cases_of(framework: Framework, function: str | None = None) -> list[Case]:
    library = cases(framework, suite="library")
    return [case for case in library if RECOMPILED in case.tags and function in (None, case.function)]


def assert_charted(framework: Framework, *, least: int) -> None:
    """Check that at least this many functions have such a case, and none has two."""
    functions = [case.function for case in cases_of(framework)]
    assert len(functions) >= least
    assert len(functions) == len(set(functions))


def assert_a_kept_shape_is_noticed(device: Device, framework: Framework, function: str) -> None:
    """Check that if a function keeps the shape of its first call, only the case with a second shape fails."""
    (case,) = cases_of(framework, function)
    (alone,) = [other for other in cases(framework, suite="library") if f"{other.id}-{RECOMPILED}" == case.id]
    own = device.lookup(function)
    assert run(device, alone_with(alone, keeping(own))).ending is Ending.returned
    assert run(device, alone_with(case, own)).ending is Ending.returned
    assert run(device, alone_with(case, keeping(own))).ending is Ending.mismatched


def alone_with(case: Case, function: Any) -> Case:
    return dataclasses.replace(case, given=function)


def keeping(function: Callable[..., Any]) -> Callable[..., Any]:
    """A wrong form of the function: with another shape than that of its first call, its values are wrong."""
    shapes: list[Any] = []

    def wrong(*arguments: Any, **options: Any) -> Any:
        result = function(*arguments, **options)
        shapes.append(result.shape)
        return result if result.shape == shapes[0] else result + 1

    return wrong
