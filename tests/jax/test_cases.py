"""Every case is right on the CPU: the references and the function agree where nothing is in the way."""

from __future__ import annotations

from runners.jax import FRAMEWORK
from runners.suite.cases import Case
from runners.suite.device import Device
from tests.framework.right import assert_charts_the_study, assert_known, assert_right, assert_unique
from tests.framework.running import cases, each

GONE: dict[str, str] = {
    "jax._src.core.get_aval": "jax.typeof",
    "jax.lax.infeed": "jax.experimental.io_callback",
}
"""Names as the paper printed them that this JAX does not have, and what stands for them today."""

FAULTY: dict[str, str] = {
    "jax.numpy.all/complex64-imaginary": "a number without a real part counts as false",
}
"""Cases that this JAX gets wrong on the CPU too, and how."""


@each(cases(FRAMEWORK))
def test_every_case_is_right_on_the_cpu(cpu: Device, case: Case) -> None:
    assert_right(cpu, case, gone=GONE, faulty=FAULTY)


def test_case_ids_are_unique() -> None:
    assert_unique(FRAMEWORK)


def test_everything_named_as_gone_or_faulty_is_charted() -> None:
    assert_known(FRAMEWORK, [*GONE, *FAULTY])


def test_the_functions_of_the_study_are_charted() -> None:
    assert_charts_the_study(FRAMEWORK)
