"""Every value case can fail: it notices when its function is slightly wrong."""

from __future__ import annotations

from typing import cast

from protocol.enums import Ending
from runners.suite.cases import Case
from runners.suite.device import Device
from runners.torch import FRAMEWORK
from tests.frameworks.common.mutants import Wrong, loaded, of_another_dtype
from tests.frameworks.common.noticing import assert_clobbering_noticed, assert_noticed, assert_right_once_noticed
from tests.frameworks.common.right import assert_known
from tests.frameworks.common.running import cases, drawn, each, run
from tests.frameworks.torch.arrays import ARRAYS
from tests.frameworks.torch.wrappers import wrapper_of

WITHOUT_MUTANTS = {
    "torch.Tensor.size/scalar-has-none": "its right result is a tuple of nothing",
}
"""Value cases on which no mutant can come to bear, and why."""

RANDOM = ("torch.multinomial", "torch.randperm")
NOT_ABOUT_THE_DISTRIBUTION = {
    "torch.randperm/the-same-seed-repeats": "a loaded permutation repeats as well",
}

IN_PLACE_BY_NATURE = "it works in place: its mutants change the list of what it changed, which is no input"
A_COPY = "the call gets a copy that the case has made"
WRITTEN_OVER_UNSEEN = {
    "torch.optim.Adamax": IN_PLACE_BY_NATURE,
    "torch.optim.Rprop": IN_PLACE_BY_NATURE,
    "torch.optim.LBFGS": IN_PLACE_BY_NATURE,
    "torch.optim.lr_scheduler.ExponentialLR": IN_PLACE_BY_NATURE,
    "torch.nn.Module.zero_grad": IN_PLACE_BY_NATURE,
    "torch.nn.BatchNorm.reset_running_stats": IN_PLACE_BY_NATURE,
    "torch.nn.functional.dropout/in-place": A_COPY,
    "torch.lt/non-contiguous": A_COPY,
    "torch.ormqr/non-contiguous": A_COPY,
    "torch.Tensor.is_same_size/other-strides": A_COPY,
    "torch.Tensor.size/non-contiguous": A_COPY,
    "torch.Tensor.size/after-reshaping": A_COPY,
    "torch.Tensor.size/of-a-result-that-depends-on-values": A_COPY,
}
"""Functions and cases that do not notice when the array that they are given is written over, and why."""

RIGHT_ONCE_UNSEEN = {
    "torch.autograd.Variable/shares-its-memory": "the case writes over what is returned",
    "torch.utils.data.Dataset/pinned-for-an-accelerator": "where the rows lie, not what is in them",
    "torch.nn.init.xavier_uniform_/parameter": "the array that it fills is looked at, not what it returns",
    "torch.nn.Module.state_dict/shares-its-arrays": "the arrays are the module's own, and written over",
    "torch.nn.Module.state_dict/order-of-names": "the names alone",
    "torch.nn.Module.state_dict/detached": "whether they are followed, not their values",
    "torch.nn.Module.state_dict/parameters-themselves": "their types, not their values",
    "torch.randperm/the-same-seed-repeats": "zeros repeat as well",
}
"""Cases that do not notice zeros in place of a later result, and why."""

SHARE = 2


@each(cases(FRAMEWORK, "value"))
def test_a_slightly_wrong_function_is_noticed(cpu: Device, case: Case) -> None:
    assert_noticed(cpu, case, ARRAYS, wrapper_of, without_mutants=WITHOUT_MUTANTS)


@each(case for case in cases(FRAMEWORK, "statistics") if case.function in RANDOM)
def test_a_wrong_distribution_is_noticed(cpu: Device, case: Case) -> None:
    die, dtype = loaded(ARRAYS), of_another_dtype(ARRAYS, 0)
    assert run(cast(Device, Wrong(cpu, dtype, wrapper_of)), case).ending is Ending.mismatched
    outcome = run(cast(Device, Wrong(cpu, die, wrapper_of)), case)
    assert die.applied
    assert (outcome.ending is Ending.mismatched) is (case.id not in NOT_ABOUT_THE_DISTRIBUTION)


@each(case for case in drawn(cases(FRAMEWORK), SHARE) if case.in_place is not True)
def test_an_input_that_is_written_over_is_noticed(cpu: Device, case: Case) -> None:
    assert_clobbering_noticed(cpu, case, ARRAYS, wrapper_of, surviving=WRITTEN_OVER_UNSEEN)


@each(drawn(cases(FRAMEWORK), SHARE))
def test_zeros_after_the_first_result_are_noticed(cpu: Device, case: Case) -> None:
    assert_right_once_noticed(cpu, case, ARRAYS, wrapper_of, surviving=RIGHT_ONCE_UNSEEN)


def test_every_case_named_as_an_exception_exists() -> None:
    assert_known(FRAMEWORK, [*WITHOUT_MUTANTS, *NOT_ABOUT_THE_DISTRIBUTION, *WRITTEN_OVER_UNSEEN, *RIGHT_ONCE_UNSEEN])
