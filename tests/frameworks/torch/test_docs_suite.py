"""Torch's suite ``docs`` is complete, right on the CPU and forced onto a device, and its examples leave the process
unchanged."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from freezing.common.docstrings import read
from freezing.common.observation import Conditions, ObservationFile, Unit, observe
from freezing.common.parts import drawn_apart
from protocol.enums import Placement
from runners.suite.cases import Function
from runners.suite.checks import Expected
from runners.suite.device import Device
from runners.suite.frozen import Pack
from runners.torch import FRAMEWORK
from runners.torch.examples import TorchDialect
from tests.frameworks.common import docs
from tests.frameworks.common.docs_claims import (
    test_an_example_with_another_value_is_noticed,
    test_every_example_is_right_on_the_cpu,
    test_every_function_says_whether_it_is_compared,
    test_every_public_name_is_charted_or_left_out_with_a_reason,
    test_the_catalogue_is_read_without_the_framework,
    test_the_files_are_small_and_name_their_release,
    test_what_is_left_out_is_counted_by_its_reason,
)
from tests.frameworks.common.running import run


@pytest.fixture(scope="module")
def functions() -> list[Function]:
    return docs.functions_of(FRAMEWORK)


@pytest.mark.parametrize(
    ("turning", "asking", "as_it_comes"),
    [
        (["torch.set_default_dtype(torch.float64)"], "torch.tensor(1.5)", Expected(1.5, "float32")),
        (["torch.set_default_device('meta')"], "torch.ones(1)", Expected([1.0], "float32")),
        (["torch.set_grad_enabled(False)"], "torch.is_grad_enabled()", True),
        (["torch.use_deterministic_algorithms(True)"], "torch.are_deterministic_algorithms_enabled()", False),
        (["torch.set_float32_matmul_precision('medium')"], "torch.get_float32_matmul_precision() == 'highest'", True),
        (["torch.autograd.set_detect_anomaly(True)"], "torch.is_anomaly_enabled()", False),
        (["torch.backends.quantized.engine = 'qnnpack'"], "torch.backends.quantized.engine == 'qnnpack'", False),
        (["import numpy", "numpy.seterr(all='raise')"], "np.geterr()['divide'] == 'raise'", False),
    ],
)
def test_an_example_that_turns_a_setting_does_not_hurt_the_next(
    cpu: Device, functions: list[Function], turning: list[str], asking: str, as_it_comes: Any
) -> None:
    docs.assert_settings_do_not_reach_the_next(cpu, functions, turning, asking, as_it_comes)


def test_an_example_that_turns_what_cannot_be_put_back_is_refused(cpu: Device, tmp_path: Path) -> None:
    """A private backend can be named only once in a process. Afterwards every search for an accelerator needs its
    module."""
    docstring = read('>>> torch.utils.rename_privateuse1_backend("foo")')
    assert docstring is not None
    unit = Unit(("torch.utils.rename_privateuse1_backend",), docstring, frozenset())
    draw = partial(observe, unit, cpu, TorchDialect(), Conditions((0,)), str(tmp_path))
    drawn_apart(unit.names[0], tmp_path / "0000.npz", draw)
    observation = ObservationFile(Pack(tmp_path / "0000.npz"))
    assert observation.refused == ("leaves settings of the process changed", "the name of a private backend")


def test_an_example_runs_on_the_forced_device(xla: Device, functions: list[Function]) -> None:
    case = next(
        case for function in functions for case in function.cases if case.kind == "value" and not case.host_only
    )
    frozen_example = docs.example_of(case)
    sources = ["a = torch.from_numpy(np.ones(3, 'float32'))", "b = torch.Tensor([1, 2, 3])", "a + b + torch.ones(3)"]
    outcome = run(xla, docs.case_of(frozen_example, case, sources, ["3"], {"3": Expected([3.0, 4.0, 5.0], "float32")}))
    assert outcome.placement is Placement.on_device, outcome
