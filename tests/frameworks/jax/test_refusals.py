"""A case of JAX that expects an error in place of a result is marked as one, and no other is."""

from __future__ import annotations

from tests.frameworks.common.refusal_claims import (
    test_a_case_is_marked_as_a_refusal_if_it_is_one,
)
