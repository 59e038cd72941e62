"""Every value case can fail: it notices when its function is slightly wrong."""

from __future__ import annotations

from typing import cast

from arrays import ARRAYS
from wrappers import wrapper_of

from protocol.enums import Ending
from runners.suite.cases import Case
from runners.suite.device import Device
from runners.torch import FRAMEWORK
from tests.framework.mutants import Wrong, loaded, of_another_dtype
from tests.framework.noticing import assert_noticed
from tests.framework.right import assert_known
from tests.framework.running import cases, each, run

WITHOUT_MUTANTS = {
    "torch.Tensor.size/scalar-has-none": "its right result is a tuple of nothing",
}
"""Value cases on which no mutant can come to bear, and why."""

RANDOM = ("torch.multinomial", "torch.randperm")
NOT_ABOUT_THE_DISTRIBUTION = {
    "torch.randperm/the-same-seed-repeats": "a loaded permutation repeats as well",
}


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


def test_every_case_named_as_an_exception_exists() -> None:
    assert_known(FRAMEWORK, [*WITHOUT_MUTANTS, *NOT_ABOUT_THE_DISTRIBUTION])
