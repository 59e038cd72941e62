"""A torch case is marked as a refusal exactly if it expects an error instead of a result."""

from __future__ import annotations

from tests.frameworks.common.refusal_claims import (
    test_a_case_is_marked_as_a_refusal_if_it_is_one,
)
