"""The folder ``runners/tensorflow`` is never imported in place of the framework of the same name."""

from __future__ import annotations

import tensorflow

from tests.frameworks.common.promises import assert_the_wheel, assert_told_without_import


def test_tensorflow_is_the_wheel() -> None:
    assert_the_wheel(tensorflow)


def test_a_framework_says_what_it_has_before_tensorflow_is_imported() -> None:
    assert_told_without_import("tensorflow", ["cpu", "gpu", "tpu", "xla"])
