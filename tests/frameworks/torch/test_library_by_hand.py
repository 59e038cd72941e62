"""The handwritten cases of the suite ``library``, for functions that the frozen file does not have, are right on the
CPU."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest
import torch

from protocol.enums import Verdict
from runners.suite.cases import collected
from runners.suite.device import Device
from runners.torch import FRAMEWORK
from runners.torch.suites import library
from tests.frameworks.common.right import assert_right
from tests.frameworks.common.running import run
from tests.frameworks.common.selection import Selection, check_cases
from tests.frameworks.common.subject import Subject

FUNCTIONS = collected(library)[len(library.FUNCTIONS) :]
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
    """Returns its batches in reverse order."""

    def __iter__(self) -> Any:
        return reversed(list(super().__iter__()))


class Unsynchronized(torch.nn.parallel.DistributedDataParallel):  # type: ignore[misc]
    """Its gradient is half of the gradient on which the group agrees."""

    def forward(self, values: Any) -> Any:
        result = super().forward(values)
        return (result + result.detach()) / 2


PLANTED: dict[str, Callable[..., Any]] = {
    "torch.tensor": lambda values, device: torch.tensor(values, device=device, dtype=torch.float64),
    "torch.where": lambda condition, one=None, other=None: torch.ones(4),
    "torch.einsum": lambda equation, *arrays: torch.einsum(equation, *arrays) + 1,
    "torch.nn.functional.softmax": lambda values, dim: torch.softmax(values, 0),
    "torch.Tensor.copy_": lambda values, source: source.clone() + 0 * values + 1,
    "torch.utils.data.DataLoader": Shuffled,
    "torch.nn.init.zeros_": lambda values: values,
    "torch.save": lambda content, file: torch.save({**content, "step": 4}, file),
    "torch.distributed.all_gather": lambda parts, values: None,
    "torch.nn.parallel.DistributedDataParallel": Unsynchronized,
    "torch.optim.swa_utils.AveragedModel.update_parameters": lambda average, layer: average.load_state_dict(
        {f"module.{name}": values for name, values in layer.state_dict().items()}, strict=False
    ),
    "torch.utils.data.DistributedSampler": lambda rows, **_: range(len(rows)),
    "torch.utils.data.RandomSampler": lambda rows, generator: range(len(rows)),
    "torch.cuda.manual_seed": torch.manual_seed,
    "torch.load": lambda file, map_location: {**torch.load(file, map_location=map_location), "step": 4},
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_wrong_function_is_noticed(cpu: Device, name: str) -> None:
    function_cases = [case for case in CASES if case.function == name]
    verdicts = [run(cpu, dataclasses.replace(case, given=PLANTED[name])).verdict for case in function_cases]
    assert Verdict.failed in verdicts
