"""Every value case can fail: it notices when its function is slightly wrong."""

from __future__ import annotations

from arrays import ARRAYS
from wrappers import wrapper_of

from runners.jax import FRAMEWORK
from runners.suite.cases import Case
from runners.suite.device import Device
from tests.framework.noticing import assert_noticed
from tests.framework.right import assert_known
from tests.framework.running import cases, each

WITHOUT_MUTANTS: dict[str, str] = {}
"""Value cases on which no mutant can come to bear, and why."""

OF_PART: dict[str, str] = {}
"""Value cases that use some of what their function returns, and what that is; another mutant they must notice."""


@each(cases(FRAMEWORK, "value"))
def test_a_slightly_wrong_function_is_noticed(cpu: Device, case: Case) -> None:
    assert_noticed(cpu, case, ARRAYS, wrapper_of, without_mutants=WITHOUT_MUTANTS, of_part=OF_PART)


def test_every_case_named_as_without_mutants_exists() -> None:
    assert_known(FRAMEWORK, [*WITHOUT_MUTANTS, *OF_PART])
