"""Remove the frozen second derivatives of operators that the gate no longer admits.

python -m freezing.torch.prune_second_order

It leaves out second derivatives that are zero within the tolerance, and those that the last digits of the inputs
decide. Every other case stays as it is.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping

from freezing.common import derivatives
from freezing.common.determined import SECOND_ORDER_TOLERANCES, require_determined
from freezing.common.gate import GatedFunction
from freezing.common.prune import FOLDER, SUITE, Frozen, case_id, remove_cases
from freezing.common.restart import begin
from freezing.common.samples import Sample
from freezing.common.variants import SECOND_ORDER
from runners.errors import LeftOutError
from runners.suite.checks import Tolerance
from runners.suite.frozen import PackSet, packs_in
from runners.torch import FRAMEWORK
from runners.torch.module_curvature import NAME


def reason_of(frozen_case: Frozen, subjects: Mapping[str, GatedFunction], packs: PackSet) -> str | None:
    """Return why the case is left out, or None if it stays."""
    if SECOND_ORDER not in frozen_case["tags"] or NAME in frozen_case["call"]:
        return None
    second_derivatives = [packs.array(digest) for digest in frozen_case["expected"]]
    if derivatives.are_zero(Tolerance(*frozen_case["tolerance"]), second_derivatives):
        return derivatives.ZERO
    sample = Sample(
        frozen_case["name"],
        frozen_case["dtype"],
        frozen_case["call"],
        tuple(frozen_case["arrays"]),
        tuple(frozen_case["tags"]),
        0,
    )
    try:
        require_determined(
            subjects[frozen_case["function"]], sample, packs, together=False, tolerances=SECOND_ORDER_TOLERANCES
        )
    except LeftOutError as error:
        return str(error)
    return None


def second_order_gradients() -> dict[str, GatedFunction]:
    """Return the second-order gradients of all operators, by the name of their function. Operators of one name call
    the same function."""
    from freezing.torch.gradients import SecondOrderGradient, gradient_of
    from freezing.torch.operators import functions_of
    from torch.testing._internal.common_methods_invocations import op_db

    gradients = [gradient_of(op, list(functions_of(op))) for op in op_db]
    return {gradient.name: SecondOrderGradient(gradient.function) for gradient in gradients if gradient is not None}


def main() -> int:
    begin(FRAMEWORK, "freezing.torch.prune_second_order", [])
    packs = packs_in(FOLDER / FRAMEWORK.name / "suites" / SUITE)
    subjects = second_order_gradients()
    reasons = {case_id(case): reason_of(case, subjects, packs) for case in packs.cases}
    remove_cases(FRAMEWORK.name, packs, lambda case: reasons[case_id(case)])
    return 0


if __name__ == "__main__":
    sys.exit(main())
