"""Every value case can fail: it notices when its function is slightly wrong."""

from __future__ import annotations

from runners.suite.cases import Case
from runners.suite.device import Device
from runners.tensorflow import FRAMEWORK
from tests.frameworks.common.noticing import assert_clobbering_noticed, assert_noticed, assert_right_once_noticed
from tests.frameworks.common.right import assert_known
from tests.frameworks.common.running import cases, drawn, each
from tests.frameworks.tensorflow.arrays import ARRAYS
from tests.frameworks.tensorflow.wrappers import wrapper_of

WITHOUT_MUTANTS: dict[str, str] = {
    "tf.data.Dataset.shard/nothing-left": "its right result holds nothing",
}
"""Value cases on which no mutant can come to bear, and why."""

OF_PART: dict[str, str] = {
    "tf.compat.v1.Session.run/control-dependency-orders": "the second of two fetches is run for its effect",
    "tf.data.Dataset.shard/cardinality": "how many rows, not what is in them",
}
"""Value cases that use some of what their function returns, and what that is; another mutant they must notice."""

WRITTEN_OVER_UNSEEN: dict[str, str] = {}
"""Functions and cases that do not notice when the array that they are given is written over, and why."""

RIGHT_ONCE_UNSEEN: dict[str, str] = {}
"""Cases that do not notice zeros in place of a later result, and why."""

SHARE = 8


@each(cases(FRAMEWORK, "value"))
def test_a_slightly_wrong_function_is_noticed(cpu: Device, case: Case) -> None:
    assert_noticed(cpu, case, ARRAYS, wrapper_of, without_mutants=WITHOUT_MUTANTS, of_part=OF_PART)


@each(case for case in drawn(cases(FRAMEWORK), SHARE) if case.in_place is not True)
def test_an_input_that_is_written_over_is_noticed(cpu: Device, case: Case) -> None:
    assert_clobbering_noticed(cpu, case, ARRAYS, wrapper_of, surviving=WRITTEN_OVER_UNSEEN)


@each(drawn(cases(FRAMEWORK), SHARE))
def test_zeros_after_the_first_result_are_noticed(cpu: Device, case: Case) -> None:
    assert_right_once_noticed(cpu, case, ARRAYS, wrapper_of, surviving=RIGHT_ONCE_UNSEEN)


def test_every_case_named_as_without_mutants_exists() -> None:
    assert_known(FRAMEWORK, [*WITHOUT_MUTANTS, *OF_PART, *WRITTEN_OVER_UNSEEN, *RIGHT_ONCE_UNSEEN])
