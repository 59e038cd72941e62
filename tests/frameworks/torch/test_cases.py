"""Every case of torch is right on the CPU."""

from __future__ import annotations

import pytest

from tests.frameworks.common.case_claims import (
    test_case_ids_are_unique,
    test_every_case_is_right_on_the_cpu,
    test_every_exception_names_a_case_or_a_function_that_is_charted,
    test_the_functions_of_the_study_are_charted,
    test_the_suites_of_many_small_calls_declare_that_they_are_untimed,
)

pytestmark = pytest.mark.every_change
