"""Torch's suite ``library``: the tests of every such suite, its aliases, and the memory layout of its arrays."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from freezing.torch.references import looked_up
from protocol.enums import Verdict
from runners.suite.cases import Case, Function
from runners.suite.device import Device
from runners.torch import FRAMEWORK
from runners.torch.layouts import ViewSteps, laid_out, moved, strided, take_view
from tests.frameworks.common import library
from tests.frameworks.common.library_claims import (
    test_every_case_is_right_on_the_cpu,
)
from tests.frameworks.common.running import run


@pytest.fixture(scope="module")
def functions() -> list[Function]:
    return list(FRAMEWORK.load_suites()["library"].functions)


@pytest.fixture(scope="module")
def left_out() -> dict[str, Any]:
    return library.left_out_of(FRAMEWORK)


def test_the_catalogue_is_read_without_torch() -> None:
    library.assert_read_without_the_framework(FRAMEWORK)


def test_what_people_call_is_charted() -> None:
    library.assert_covers(FRAMEWORK, least=0.95)


def test_the_revision_of_paper_does_not_depend_on_it(tmp_path: Path) -> None:
    library.assert_apart_from_paper(FRAMEWORK, tmp_path)


def test_the_file_is_small_and_names_its_torch() -> None:
    library.assert_small(FRAMEWORK)


def test_it_charts_hundreds_of_functions_each_once(functions: list[Function]) -> None:
    names = [function.name for function in functions]
    assert len(names) == len(set(names))
    assert len(names) >= 700
    assert sum(name.startswith("torch.Tensor.") for name in names) >= 350


def test_every_case_says_what_judged_it(functions: list[Function]) -> None:
    library.assert_says_what_judged(functions)


def test_what_is_left_out_is_counted_by_its_reason(left_out: dict[str, Any]) -> None:
    library.assert_reasons_are_counted(left_out)


def test_no_alias_is_charted_beside_its_function(functions: list[Function], left_out: dict[str, Any]) -> None:
    names = {function.name for function in functions}
    own = {owner for owner in left_out["left_out"]["an alias"] if f"torch.{owner}" in names}
    for owner in own:
        for alias in left_out["left_out"]["an alias"][owner]:
            both = looked_up(torch, alias) is looked_up(torch, owner) is not None
            assert not (both and f"torch.{alias}" in names), alias


def test_the_quick_form_meets_every_kind_of_a_functions_inputs() -> None:
    library.assert_quick_meets_every_kind(FRAMEWORK)


def one_off(function: Callable[..., Any]) -> Callable[..., Any]:
    def wrong(*arguments: Any, **options: Any) -> Any:
        result = function(*arguments, **options).clone()
        result.reshape(-1)[0] += 1
        return result

    return wrong


def of_another_dtype(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *arguments, **options: function(*arguments, **options).to(torch.float64)


def without_options(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *arguments, **options: function(arguments[0])


def changing_its_input(function: Callable[..., Any]) -> Callable[..., Any]:
    def wrong(*arguments: Any, **options: Any) -> Any:
        result = function(*arguments, **options).clone()
        arguments[0].zero_()
        return result

    return wrong


PLANTED: list[tuple[str, Callable[..., Any]]] = [
    ("torch.add", one_off),
    ("torch.Tensor.mul", one_off),
    ("torch.nn.functional.relu", of_another_dtype),
    ("torch.sum", without_options),
    ("torch.exp", changing_its_input),
]


@pytest.mark.parametrize(("name", "plant"), PLANTED, ids=[f"{plant.__name__}-{name}" for name, plant in PLANTED])
def test_a_planted_wrong_function_is_noticed(
    cpu: Device, functions: list[Function], name: str, plant: Callable[..., Any]
) -> None:
    function = next(function for function in functions if function.name == name)
    wrong = plant(cpu.lookup(name))
    verdicts = [run(cpu, dataclasses.replace(case, given=wrong)).verdict for case in _cases_with_elements(function)]
    assert Verdict.failed in verdicts


def _cases_with_elements(function: Function) -> list[Case]:
    """The cases in float32 whose inputs have elements."""
    return [case for case in function.cases if case.dtype == "float32" and "empty" not in case.tags]


@pytest.mark.parametrize(
    ("shape", "strides"),
    [((2, 3), (1, 2)), ((2, 3), (3, 1)), ((4,), (2,)), ((2, 3), (0, 1)), ((0, 3), (3, 1)), ((), ())],
)
def test_an_array_is_laid_out_with_its_strides(shape: tuple[int, ...], strides: tuple[int, ...]) -> None:
    values = torch.arange(6.0)[: max(1, torch.Size(shape).numel())]
    array = values[: torch.Size(shape).numel()].reshape(shape) if 0 not in strides else values[:3].expand(shape)
    result = strided(array, strides)
    assert torch.equal(result, array)
    assert result.numel() == 0 or result.stride() == strides


class Operations(TorchDispatchMode):
    """The names of the operations that take or create an array on a device other than the host."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, function: Any, types: Any, arguments: Any = (), options: Any = None) -> Any:
        result = function(*arguments, **(options or {}))
        arrays = [one for one in (*arguments, result) if isinstance(one, torch.Tensor)]
        if any(array.device.type != "cpu" for array in arrays):
            self.names.append(function.overloadpacket.__name__)
        return result


@pytest.mark.parametrize("strides", [(1, 3), (8, 2), (0, 1)])
def test_an_array_is_laid_out_on_the_host_and_moved(xla: Device, strides: tuple[int, ...]) -> None:
    values = np.broadcast_to(np.arange(4.0), (3, 4)) if 0 in strides else np.arange(12.0).reshape(3, 4)
    array = xla.to_device(values, "float32")
    with Operations() as operations:
        result = laid_out(array, "int32", strides)
    assert result.device == array.device
    assert result.cpu().tolist() == values.tolist()
    assert set(operations.names) <= {"_to_copy", "as_strided", "detach"}


VIEWS: Mapping[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "column": lambda x: x[:, 1],
    "inner-columns": lambda x: x[:, :, 1:3],
    "every-other-column": lambda x: x[..., ::2],
    "columns-turned": lambda x: x[:, :2].transpose(0, 2),
    "one-row-of-each": lambda x: x[:, :1].transpose(0, 1),
    "repeated": lambda x: x[:, :, :1].expand(-1, -1, 6),
    "repeated-and-new": lambda x: x[:, 0, 1:4].unsqueeze(1).expand(2, 5, 3),
    "uneven-steps": lambda x: x.reshape(6, 5)[:, ::2],
    "number": lambda x: x[1, 2, 3],
}


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_of_a_program_is_taken_in_steps(name: str) -> None:
    view = VIEWS[name](torch.arange(30.0).reshape(2, 3, 5))
    steps = ViewSteps.of(view.shape, view.stride())
    assert steps is not None
    result = steps.take(steps.buffer(view.clone()))
    assert torch.equal(result, view)
    assert result.stride() == view.stride()


@pytest.mark.parametrize(("shape", "strides"), [((3, 3), (1, 1)), ((3, 2), (2, 3)), ((0, 2), (2, 1))])
def test_a_view_of_which_elements_overlap_or_that_is_empty_has_no_steps(
    shape: tuple[int, ...], strides: tuple[int, ...]
) -> None:
    assert ViewSteps.of(shape, strides) is None


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_is_taken_on_the_device_without_strides(xla: Device, name: str) -> None:
    view = VIEWS[name](torch.arange(30.0).reshape(2, 3, 5))
    array = xla.to_device(view.numpy(), "float32")
    with Operations() as operations:
        result = take_view(array, "int32", view.stride())
    assert result.device == array.device
    assert result.cpu().tolist() == view.tolist()
    assert "as_strided" not in operations.names


def test_elements_that_share_memory_have_the_same_values_on_every_device(cpu: Device, xla: Device) -> None:
    values = np.arange(6.0).reshape(2, 3)
    on_host, on_device = (take_view(device.to_device(values, "float32"), None, (0, 1)) for device in (cpu, xla))
    assert on_device.cpu().tolist() == on_host.tolist() == [[3.0, 4.0, 5.0]] * 2


def test_a_device_without_slices_gets_the_values_without_gaps(monkeypatch: pytest.MonkeyPatch, xla: Device) -> None:
    def refuses(*_: Any) -> torch.Tensor:
        raise NotImplementedError("no slices here")

    array = xla.to_device(np.arange(3.0), "float32")
    monkeypatch.setattr(ViewSteps, "take", refuses)
    assert take_view(array, None, (2,)).cpu().tolist() == [0.0, 1.0, 2.0]


def test_a_device_without_views_gets_the_values_without_gaps(monkeypatch: pytest.MonkeyPatch, xla: Device) -> None:
    view = torch.arange(12.0)[::2]

    def refuses(*_: Any) -> torch.Tensor:
        raise NotImplementedError("no aten::as_strided here")

    monkeypatch.setattr(torch.Tensor, "as_strided", refuses)
    assert moved(view, xla.handle).cpu().tolist() == view.tolist()


def test_the_places_of_a_split_are_on_the_host_as_its_documentation_says(
    xla: Device, functions: list[Function]
) -> None:
    (function,) = (one for one in functions if one.name == "torch.tensor_split")
    for case in function.cases:
        assert run(xla, case).verdict is Verdict.passed, case.name
