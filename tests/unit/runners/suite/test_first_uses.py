"""The cases that decide how their process first uses the device: from which cases they are made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from protocol.catalogue import CatalogueCase, representatives
from protocol.enums import FIRST_USES, GRADIENT, RECOMPILED, FirstUse
from runners.suite.cases import Function
from runners.suite.first_uses import plainest_gradient, with_first_uses

FORWARD, PLAIN, QUICK = ("plain",), (GRADIENT, "plain"), (GRADIENT, "plain", "quick")


def function_with(*tags: Sequence[str]) -> Function:
    function = Function("one.two", reference=np.negative)
    for number, case_tags in enumerate(tags):
        function.value(f"{number}", lambda inputs: [inputs.normal(2)], tags=case_tags)
    return function


@pytest.mark.parametrize(("tags", "base_name"), [
    ([FORWARD, (GRADIENT, "empty"), (*QUICK, "offset"), PLAIN, QUICK], "3"),
    ([FORWARD, PLAIN, PLAIN], "1"),
    ([QUICK, (GRADIENT, "plain", "real")], "1"),
    ([FORWARD, (GRADIENT, "empty")], "1"),
    ([(*PLAIN, RECOMPILED), (GRADIENT, "strided")], "1"),
    ([FORWARD], None),
])  # fmt: skip
def test_the_plainest_gradient_of_a_function_is_taken(tags: list[tuple[str, ...]], base_name: str | None) -> None:
    case = plainest_gradient(function_with(*tags).cases)
    assert (case and case.id.rpartition("/")[2]) == base_name


@pytest.mark.parametrize("gradient", [PLAIN, QUICK])
def test_a_function_gets_a_case_of_each_first_use_after_its_other_cases(gradient: tuple[str, ...]) -> None:
    function = function_with(gradient, FORWARD)
    (new_function,) = with_first_uses([function], {"one.two"})
    assert new_function.cases[:2] == function.cases
    base = function.cases[0]
    assert [case.id for case in new_function.cases[2:]] == [f"one.two/0-{first_use}" for first_use in FirstUse]
    for case in new_function.cases[2:]:
        assert replace(case, id=base.id, tags=base.tags) == base
        assert len(FIRST_USES & set(case.tags)) == 1
        assert case.tags.count("quick") == 1


def test_other_functions_and_functions_without_a_gradient_stay_as_they_are() -> None:
    functions = [function_with(QUICK), replace(function_with(FORWARD), name="three.four")]
    assert with_first_uses(functions, {"three.four"}) == functions


def test_no_such_case_represents_its_function() -> None:
    cases = [
        CatalogueCase(id="first", function="f", tags=["plain", "real", FirstUse.host_first]),
        CatalogueCase(id="refused", function="f", tags=["refuses"]),
    ]
    assert representatives(cases) == {"refused"}
