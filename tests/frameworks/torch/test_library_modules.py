"""Cases of modules in the suite ``library`` that look at buffers and at gradients: wrong ones are detected."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.testing._internal.common_modules import module_db

from freezing.torch.module_kinds import (
    ModuleGradient,
    ModuleSecondOrder,
    after_batches,
    freeze_buffers,
    freeze_gradients,
    freeze_second_derivatives,
)
from freezing.torch.modules import name_of
from freezing.torch.variants import FrozenCases
from protocol.enums import Verdict
from runners.suite.cases import Case
from runners.suite.device import Device
from runners.suite.frozen import PACK, Pack, frozen_functions
from runners.torch import FRAMEWORK, module_curvature, module_ways
from runners.torch.frozen import FrozenCall
from runners.torch.module_ways import ModuleCall, frozen_call_in_any_way
from tests.frameworks.common import library
from tests.frameworks.common.running import run

FOLDER = library.folder_of(FRAMEWORK)


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    return [case for function in FRAMEWORK.load_suites()["library"].functions for case in function.cases]


@pytest.fixture(scope="module")
def base_cases() -> FrozenCases:
    return FrozenCases(Pack(FOLDER / PACK))


def info_of(name: str) -> Any:
    return next(info for info in module_db if name_of(info) == name)


def linear_parts() -> tuple[Any, ...]:
    state = {"weight": torch.tensor([[1.0, 2.0]]), "bias": torch.tensor([3.0])}
    return [2, 1], {}, state, ([torch.tensor([[5.0, 7.0]])], {}), True, [0], [torch.tensor([[10.0]])]


def test_the_gradients_of_a_module_are_by_inputs_and_by_parameters() -> None:
    (by_input,), by_parameter = module_ways.module_gradient(torch.nn.Linear, *linear_parts())()
    assert by_input.tolist() == [[10.0, 20.0]]
    assert {name: gradient.tolist() for name, gradient in by_parameter.items()} == {
        "weight": [[50.0, 70.0]],
        "bias": [10.0],
    }


def test_differences_are_the_gradients_of_a_module_without_its_backward_pass() -> None:
    parts = linear_parts()
    subject = ModuleGradient(info_of("torch.nn.Linear"))
    references = dict(subject.references("float32", lambda: (parts, {})))
    assert list(references) == ["differences", "float64"]
    for reference in references.values():
        results = [array.reshape(-1).tolist() for array in reference()]
        assert [len(result) for result in results] == [2, 2, 1]
        np.testing.assert_allclose(np.concatenate(results), [10, 20, 50, 70, 10], rtol=1e-6)


def test_the_second_derivatives_of_a_module_are_those_of_half_the_squares_of_its_gradients() -> None:
    """The gradients of ``linear_parts`` are 10 times the weight, 10 times the input, and 10."""
    (by_input,), by_parameter = module_curvature.module_second_order(torch.nn.Linear, *linear_parts())()
    assert by_input.tolist() == [[500.0, 700.0]]
    assert {name: gradient.tolist() for name, gradient in by_parameter.items()} == {
        "weight": [[100.0, 200.0]],
        "bias": [0.0],
    }


def test_differences_are_the_second_derivatives_of_a_module() -> None:
    parts = linear_parts()
    subject = ModuleSecondOrder(info_of("torch.nn.Linear"))
    references = dict(subject.references("float32", lambda: (parts, {})))
    assert list(references) == ["differences", "float64"]
    for reference in references.values():
        results = np.concatenate([array.reshape(-1) for array in reference()])
        np.testing.assert_allclose(results, [500, 700, 100, 200, 0], rtol=1e-6, atol=1e-4)


def test_a_module_whose_gradients_depend_on_no_input_has_no_second_derivative() -> None:
    subject = ModuleSecondOrder(info_of("torch.nn.ReLU"))
    with pytest.raises(ValueError, match="depend on no input"):
        subject.call([], {}, {}, ([torch.tensor([0.5, -1.0])], {}), True, [0], [torch.tensor([2.0, 1.0])])


def test_every_call_begins_with_the_buffers_of_the_state() -> None:
    state = {"running_mean": torch.zeros(1), "running_var": torch.ones(1), "num_batches_tracked": torch.tensor(3)}
    inputs = [torch.tensor([[1.0], [3.0]])], {}
    call = module_ways.forward_and_buffers(torch.nn.BatchNorm1d, [1, 0.0, 0.5, False], {}, state, inputs, True)
    for _ in range(2):
        result, buffers = call()
        assert result.tolist() == [[-1.0], [1.0]]
        assert {name: buffer.item() for name, buffer in buffers.items()} == {
            "running_mean": 1.0,
            "running_var": 1.5,
            "num_batches_tracked": 4,
        }


def test_the_digest_of_other_cases_does_not_count_the_ways_of_modules() -> None:
    """A case in these ways is prepared by a class of its own, so all others are prepared as before."""
    assert type(frozen_call_in_any_way('{"tuple":[[],{"mapping":[]}],"way":"forward"}')) is FrozenCall
    for way, function in module_ways.MODULE_WAYS.items():
        prepared_call = frozen_call_in_any_way(json.dumps({"tuple": [], "way": way}, separators=(",", ":")))
        assert type(prepared_call) is ModuleCall
        assert prepared_call.way is function
    second_order = frozen_call_in_any_way('{"tuple":[],"way":"module_second_order"}')
    assert second_order.way is module_curvature.module_second_order
    assert not isinstance(second_order, ModuleCall)


def test_a_module_that_has_seen_batches_has_other_statistics(base_cases: FrozenCases) -> None:
    call = base_cases.call(base_cases.of("torch.nn.BatchNorm1d", "float32-0-train")[0])
    changed_call = after_batches(call)
    assert changed_call.written == call.written
    assert [
        number for number, array in enumerate(changed_call.arrays) if not np.array_equal(array, call.arrays[number])
    ] == [2, 3, 4]
    assert (changed_call.arrays[3] > 0).all()


@pytest.mark.parametrize(
    ("freeze", "name", "tags"),
    [
        (freeze_buffers, "torch.nn.BatchNorm1d", {"buffers", "judged-by-numpy"}),
        (freeze_buffers, "torch.nn.InstanceNorm2d", {"buffers", "judged-by-numpy"}),
        (freeze_buffers, "torch.nn.Linear", None),
        (freeze_gradients, "torch.nn.Linear", {"gradient", "judged-by-differences"}),
        (freeze_gradients, "torch.nn.SoftMarginLoss", {"gradient", "judged-by-differences"}),
        (freeze_gradients, "torch.nn.MultiheadAttention", {"gradient"}),
        (freeze_second_derivatives, "torch.nn.Linear", {"second-order", "judged-by-differences"}),
        (freeze_second_derivatives, "torch.nn.BatchNorm2d", {"second-order", "judged-by-float64"}),
        (freeze_second_derivatives, "torch.nn.ReLU", None),
    ],
)
def test_what_is_drawn_of_modules_is_right_where_it_is_charted(
    cpu: Device,
    base_cases: FrozenCases,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    freeze: Callable[..., None],
    name: str,
    tags: set[str] | None,
) -> None:
    """This includes a loss that has no derivative with respect to its target, and a module without buffers."""
    package = tmp_path / f"{freeze.__name__}_{name.rpartition('.')[2]}"
    package.mkdir()
    (package / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    freeze(info_of(name), base_cases, package / PACK)
    new_cases = [case for function in frozen_functions(package.name, frozen_call_in_any_way) for case in function.cases]
    assert bool(new_cases) is (tags is not None)
    for case in new_cases:
        assert {"module", "train", *(tags or ())} <= set(case.tags)
        assert run(cpu, case).verdict is Verdict.passed, case.id


def test_it_charts_the_buffers_and_gradients_of_modules(cases: list[Case]) -> None:
    buffers = {case.function for case in cases if "buffers" in case.tags}
    assert buffers == {
        *(f"torch.nn.{kind}Norm{axes}d" for kind in ("Batch", "Instance") for axes in (1, 2, 3)),
        "torch.nn.SyncBatchNorm",
    }
    assert len({case.function for case in cases if {"module", "gradient"} <= set(case.tags)}) >= 100
    assert len({case.function for case in cases if {"module", "second-order"} <= set(case.tags)}) >= 50


def with_a_biased_variance(module: Any) -> Any:
    """The running variance is divided by the number of elements, as the result is."""

    def forward(self: Any, array: Any) -> Any:
        before = None if self.running_var is None else self.running_var.clone()
        result = super(module, self).forward(array)
        if before is not None and self.training and array.numel():
            count = array.numel() // array.shape[1]
            share = 1 / int(self.num_batches_tracked) if self.momentum is None else self.momentum
            excess = array.detach().transpose(0, 1).flatten(1).var(1) / count
            # The backward pass refuses a buffer that was changed in place.
            self.running_var = self.running_var - share * excess
        return result

    return type(module.__name__, (module,), {"forward": forward})


class ZeroGradient(torch.autograd.Function):
    """A function that passes everything on, but no gradient."""

    @staticmethod
    def forward(context: Any, array: Any) -> Any:
        return array.clone()

    @staticmethod
    def backward(context: Any, slope: Any) -> Any:
        return torch.zeros_like(slope)


def whose_bias_learns_nothing(module: Any) -> Any:
    def forward(self: Any, input: Any) -> Any:
        bias = None if self.bias is None else ZeroGradient.apply(self.bias)
        return torch.nn.functional.linear(input, self.weight, bias)

    return type(module.__name__, (module,), {"forward": forward})


class WithoutCurvature(ZeroGradient):
    """A function that passes everything on, with the right first derivative and no second derivative."""

    @staticmethod
    def backward(context: Any, slope: Any) -> Any:
        return ZeroGradient.apply(slope)


def without_curvature(module: Any) -> Any:
    def forward(self: Any, input: Any) -> Any:
        return module.forward(self, WithoutCurvature.apply(input))

    return type(module.__name__, (module,), {"forward": forward})


@pytest.mark.parametrize("name", ["torch.nn.Linear", "torch.nn.LayerNorm", "torch.nn.GELU", "torch.nn.Conv1d"])
def test_a_missing_second_derivative_of_a_module_is_noticed(cpu: Device, cases: list[Case], name: str) -> None:
    wrong = without_curvature(cpu.lookup(name))
    own_cases = [case for case in cases if case.function == name and not case.refuses]
    failing = [
        case.id for case in own_cases if run(cpu, dataclasses.replace(case, given=wrong)).verdict is Verdict.failed
    ]
    assert failing == [case.id for case in own_cases if "second-order" in case.tags]
    assert failing


@pytest.mark.parametrize(
    ("name", "tag", "plant"),
    [
        ("torch.nn.BatchNorm2d", "buffers", with_a_biased_variance),
        ("torch.nn.SyncBatchNorm", "buffers", with_a_biased_variance),
        ("torch.nn.Linear", "gradient", whose_bias_learns_nothing),
    ],
)
def test_a_fault_that_no_result_shows_is_noticed(
    cpu: Device, cases: list[Case], name: str, tag: str, plant: Callable[..., Any]
) -> None:
    wrong = plant(cpu.lookup(name))
    own_cases = [case for case in cases if case.function == name and not case.refuses]
    failing = [
        case.id for case in own_cases if run(cpu, dataclasses.replace(case, given=wrong)).verdict is Verdict.failed
    ]
    assert failing
    assert set(failing) <= {case.id for case in own_cases if tag in case.tags}
