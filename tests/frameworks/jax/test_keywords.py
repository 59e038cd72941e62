"""JAX's cases pass each keyword that affects values, and NaN to each function of floats."""

from __future__ import annotations

from tests.frameworks.common.keyword_claims import (
    test_every_function_on_floats_is_fed_nan,
    test_every_keyword_that_decides_values_is_given,
    test_every_word_that_decides_no_value_is_a_keyword_of_some_function,
)
