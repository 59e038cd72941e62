"""Each value case of torch can fail: it detects when its function is slightly wrong. Random cases can fail, too."""

from __future__ import annotations

from typing import cast

from protocol.enums import Ending
from runners.suite.cases import Case
from runners.suite.device import Device
from tests.frameworks.common.mutant_claims import (
    test_a_slightly_wrong_function_is_noticed,
    test_an_input_that_is_written_over_is_noticed,
    test_zeros_after_the_first_result_are_noticed,
)
from tests.frameworks.common.mutants import Wrong, load_dice, of_another_dtype
from tests.frameworks.common.running import cases, run
from tests.frameworks.common.selection import Selection, check_cases
from tests.frameworks.common.subject import Subject

RANDOM = ("torch.multinomial", "torch.randperm")
NOT_ABOUT_THE_DISTRIBUTION = {
    "torch.randperm/the-same-seed-repeats": "a loaded permutation repeats as well",
}


def test_a_wrong_distribution_is_noticed(cpu: Device, subject: Subject, selection: Selection) -> None:
    distribution_cases = [case for case in cases(subject.framework, "statistics") if case.function in RANDOM]
    assert NOT_ABOUT_THE_DISTRIBUTION.keys() <= {case.id for case in distribution_cases}
    check_cases(selection.every(distribution_cases), lambda case: assert_distribution_noticed(cpu, case, subject))


def assert_distribution_noticed(cpu: Device, case: Case, subject: Subject) -> None:
    die, dtype = load_dice(subject.arrays), of_another_dtype(subject.arrays, 0)
    assert run(cast(Device, Wrong(cpu, dtype, subject.wrapper_of)), case).ending is Ending.mismatched
    outcome = run(cast(Device, Wrong(cpu, die, subject.wrapper_of)), case)
    assert die.applied
    assert (outcome.ending is Ending.mismatched) is (case.id not in NOT_ABOUT_THE_DISTRIBUTION)
