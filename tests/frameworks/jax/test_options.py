"""The options of JAX's cases agree with the calls that the cases make."""

from __future__ import annotations

from tests.frameworks.common.option_claims import (
    test_the_options_of_a_case_say_how_it_calls_its_function,
    test_the_options_that_were_recorded_are_those_of_the_calls,
)
