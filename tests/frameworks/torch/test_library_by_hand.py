"""The cases by hand of the suite ``library``: functions that the frozen file does not have, right on the CPU."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest
import torch

from protocol.enums import Verdict
from runners.suite.device import Device
from runners.torch import FRAMEWORK
from runners.torch.suites import library
from runners.torch.suites.library import by_hand, modes, training
from tests.frameworks.common.right import assert_right
from tests.frameworks.common.running import run
from tests.frameworks.common.selection import Selection, check_cases
from tests.frameworks.common.subject import Subject

FUNCTIONS = [*by_hand.FUNCTIONS, *modes.FUNCTIONS, *training.FUNCTIONS]
CASES = [case for function in FUNCTIONS for case in function.cases]


def test_no_function_is_in_both() -> None:
    assert not {function.name for function in FUNCTIONS} & {function.name for function in library.FUNCTIONS}


def test_both_suites_have_them() -> None:
    for suite in ("library", "library_quick"):
        ids = {case.id for case in FRAMEWORK.load_suites()[suite].cases}
        assert ids.issuperset(case.id for case in CASES), suite


def test_torch_is_right_on_the_cpu(cpu: Device, subject: Subject, selection: Selection) -> None:
    check_cases(selection.every(CASES), lambda case: assert_right(cpu, case, subject))


class Shuffled(torch.utils.data.DataLoader):  # type: ignore[misc]
    """Gives its batches in reverse."""

    def __iter__(self) -> Any:
        return reversed(list(super().__iter__()))


PLANTED: dict[str, Callable[..., Any]] = {
    "torch.tensor": lambda values, device: torch.tensor(values, device=device, dtype=torch.float64),
    "torch.where": lambda condition, one=None, other=None: torch.ones(4),
    "torch.einsum": lambda equation, *arrays: torch.einsum(equation, *arrays) + 1,
    "torch.nn.functional.softmax": lambda values, dim: torch.softmax(values, 0),
    "torch.Tensor.copy_": lambda values, source: source.clone() + 0 * values + 1,
    "torch.utils.data.DataLoader": Shuffled,
    "torch.nn.init.zeros_": lambda values: values,
    "torch.save": lambda content, file: torch.save({**content, "step": 4}, file),
    "torch.load": lambda file, map_location: {**torch.load(file, map_location=map_location), "step": 4},
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_wrong_function_is_noticed(cpu: Device, name: str) -> None:
    function_cases = [case for case in CASES if case.function == name]
    verdicts = [run(cpu, dataclasses.replace(case, given=PLANTED[name])).verdict for case in function_cases]
    assert Verdict.failed in verdicts
