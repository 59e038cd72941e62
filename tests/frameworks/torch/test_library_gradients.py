"""Cases of the suite ``library`` that are no plain calls (gradients, modules, optimizers): wrong ones are detected."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch

from freezing.torch import differences
from protocol.enums import Ending, Verdict
from runners.suite.cases import Case, Function
from runners.suite.checks import Expected
from runners.suite.device import Device
from runners.torch import FRAMEWORK, ways
from tests.frameworks.common.running import run


@pytest.fixture(scope="module")
def functions() -> dict[str, Function]:
    return {function.name: function for function in FRAMEWORK.load_suites()["library"].functions}


def with_tag(functions: dict[str, Function], tag: str) -> list[Case]:
    return [case for function in functions.values() for case in function.cases if tag in case.tags]


@pytest.mark.parametrize(("tag", "beginning", "least"), [
    ("gradient", "torch.", 400),
    ("module", "torch.nn.", 100),
    ("optimizer", "torch.optim.", 12),
])  # fmt: skip
def test_it_charts_gradients_modules_and_optimizers(
    functions: dict[str, Function], tag: str, beginning: str, least: int
) -> None:
    names = {case.function for case in with_tag(functions, tag)}
    assert len(names) >= least
    assert all(name.startswith(beginning) for name in names)


def test_a_drawn_gradient_is_named_so_and_judged_by_values_or_is_random(functions: dict[str, Function]) -> None:
    cases = [case for function in functions.values() for case in function.cases if "by-hand" not in case.tags]
    for case in cases:
        is_named = "-gradient" in case.id or case.id.endswith("-second-order")
        assert is_named is ("gradient" in case.tags), case.id
    judges = {tag for case in with_tag(functions, "gradient") for tag in case.tags if tag.startswith("judged-by-")}
    assert judges == {"judged-by-differences", "judged-by-float64"}


def test_a_module_that_has_modes_is_called_in_both(functions: dict[str, Function]) -> None:
    modes = {tag for case in functions["torch.nn.BatchNorm1d"].cases for tag in case.tags} & {"train", "eval"}
    assert modes == {"train", "eval"}


def test_a_gradient_is_that_of_the_weighted_sum_of_the_results() -> None:
    one, other = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 5.0])
    both = lambda a, b, scale: (a * b * scale, b.argmax(), b)  # noqa: E731
    call = ways.gradient(both, [one, other], {"scale": 2.0}, [0, 1], [torch.tensor([1.0, 10.0]), None, torch.ones(2)])
    by_one, by_other = call()
    assert by_one.tolist() == [6.0, 100.0]
    assert by_other.tolist() == [3.0, 41.0]


def test_differences_are_the_gradient_without_its_formula() -> None:
    def wrong_backward(array: Any) -> Any:
        return array.detach() ** 3 + 0 * array

    array, weights = torch.tensor([[0.5, -1.0]]), torch.tensor([[2.0, 1.0]])
    (result,) = differences.gradients(wrong_backward, ([array], {}, [0], [weights]))
    np.testing.assert_allclose(result, [[1.5, 3.0]], rtol=1e-9)


class Halved(torch.autograd.Function):
    """A function that passes everything on, but only half of a gradient."""

    @staticmethod
    def forward(context: Any, array: Any) -> Any:
        return array.clone()

    @staticmethod
    def backward(context: Any, slope: Any) -> Any:
        return slope / 2


def with_a_wrong_backward(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *arguments, **options: Halved.apply(function(*arguments, **options))


def which_always_trains(module: Any) -> Any:
    return type(module.__name__, (module,), {"train": lambda self, mode=True: super(module, self).train(True)})


def without_its_bias(module: Any) -> Any:
    def forward(self: Any, array: Any) -> Any:
        result = super(module, self).forward(array)
        return result if self.bias is None else result - self.bias

    return type(module.__name__, (module,), {"forward": forward})


def which_forgets_its_state(optimizer: Any) -> Any:
    def step(self: Any, closure: Any = None) -> Any:
        self.state.clear()
        return super(optimizer, self).step(closure)

    return type(optimizer.__name__, (optimizer,), {"step": step})


PLANTED: list[tuple[str, Callable[..., Any]]] = [
    ("torch.exp", with_a_wrong_backward),
    ("torch.nn.functional.conv2d", with_a_wrong_backward),
    ("torch.nn.Linear", without_its_bias),
    ("torch.nn.BatchNorm2d", which_always_trains),
    ("torch.optim.Adam", which_forgets_its_state),
]


@pytest.mark.parametrize(("name", "plant"), PLANTED, ids=[f"{plant.__name__}-{name}" for name, plant in PLANTED])
def test_a_planted_fault_is_noticed(
    cpu: Device, functions: dict[str, Function], name: str, plant: Callable[..., Any]
) -> None:
    wrong = plant(cpu.lookup(name))
    verdicts = [run(cpu, dataclasses.replace(case, given=wrong)).verdict for case in functions[name].cases]
    assert Verdict.failed in verdicts


@pytest.mark.parametrize("name", ["torch.nn.LazyConv1d", "torch.nn.LSTM", "torch.optim.LBFGS", "torch.optim.Muon"])
def test_what_is_built_is_right_on_the_cpu(cpu: Device, functions: dict[str, Function], name: str) -> None:
    for case in functions[name].cases:
        outcome = run(cpu, case)
        assert outcome.ending is Ending.returned, (case.id, outcome.evidence)


def expected_in(tree: Any) -> Iterator[Expected]:
    """The arrays of an expected result: gradients in a list, and of a module also by the names of parameters."""
    if isinstance(tree, Expected):
        yield tree
    elif tree is not None:
        for member in tree.values() if isinstance(tree, dict) else tree:
            yield from expected_in(member)


def test_nearly_every_gradient_would_show_a_wrong_factor(functions: dict[str, Function]) -> None:
    """Exceptions are functions that are flat, such as rounding, and copies into other arrays."""
    charted_names: set[str] = set()
    names_with_slope: set[str] = set()
    for case in with_tag(functions, "gradient"):
        charted_names.add(case.function)
        if case.reference is not None:
            arrays = [expected.values for expected in expected_in(case.reference())]
            names_with_slope |= {case.function} if any(np.any(values) for values in arrays) else set()
    assert len(names_with_slope) > 0.9 * len(charted_names), sorted(charted_names - names_with_slope)
