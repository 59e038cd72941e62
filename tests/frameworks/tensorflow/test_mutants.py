"""Each value case of TensorFlow can fail: it detects when its function is slightly wrong."""

from __future__ import annotations

from tests.frameworks.common.mutant_claims import (
    test_a_slightly_wrong_function_is_noticed,
    test_an_input_that_is_written_over_is_noticed,
    test_zeros_after_the_first_result_are_noticed,
)
