"""The folder ``runners/jax`` is never imported in place of the framework of the same name."""

from __future__ import annotations

import jax

from tests.frameworks.common.promises import assert_the_wheel, assert_told_without_import


def test_jax_is_the_wheel() -> None:
    assert_the_wheel(jax)


def test_a_framework_says_what_it_has_before_jax_is_imported() -> None:
    assert_told_without_import("jax", ["cpu", "cuda", "cuda-lowered", "tpu", "tpu-lowered"])
