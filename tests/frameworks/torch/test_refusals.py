"""A case that expects an error in place of a result is marked as one, and no other is."""

from __future__ import annotations

import builtins
import dataclasses
from collections.abc import Iterator
from functools import wraps
from typing import Any

import pytest

from runners.suite.cases import Case
from runners.suite.device import Device
from runners.torch import FRAMEWORK
from tests.frameworks.common.running import cases, run

BEHAVIOURS = [case for case in cases(FRAMEWORK) if case.kind == "behaviour"]


@pytest.mark.parametrize("case", BEHAVIOURS, ids=[case.id for case in BEHAVIOURS])
def test_a_case_is_marked_as_a_refusal_if_it_is_one(cpu: Device, case: Case) -> None:
    assert case.check is not None
    ends: list[bool] = []
    seen: list[Any] = []

    def checked(observed: Any, *arguments: Any, **options: Any) -> None:
        seen.append(observed)
        assert case.check is not None
        case.check(observed, *arguments, **options)

    function = cpu.lookup(case.looked_up)
    given = None if isinstance(function, type) else watched(function, ends)
    outcome = run(cpu, dataclasses.replace(case, given=given, check=checked))
    assert outcome.evidence is None
    only_errors = bool(ends) and not any(ends)
    names_errors = any(map(is_error, texts(seen)))
    assert case.refuses is (only_errors or names_errors)


def watched(function: Any, ends: list[bool]) -> Any:
    """The function, which notes of each call whether it returned."""

    @wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        ends.append(False)
        result = function(*arguments, **options)
        ends[-1] = True
        return result

    return call


def texts(tree: Any) -> Iterator[str]:
    if isinstance(tree, str):
        yield tree
    elif isinstance(tree, (list, tuple)):
        for branch in tree:
            yield from texts(branch)


def is_error(text: str) -> bool:
    found = getattr(builtins, text, None)
    return isinstance(found, type) and issubclass(found, BaseException)
