"""Tests of every framework's cases with a second shape."""

from __future__ import annotations

from tests.frameworks.common import second_shapes
from tests.frameworks.common.subject import Subject

LEAST = 400


def test_hundreds_of_functions_have_a_second_shape(subject: Subject) -> None:
    second_shapes.assert_charted(subject.framework, least=LEAST)
