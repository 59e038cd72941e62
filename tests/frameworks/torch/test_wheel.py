"""The folder ``runners/torch`` is never imported in place of the framework of the same name."""

from __future__ import annotations

import torch

from tests.frameworks.common.promises import assert_the_wheel, assert_told_without_import


def test_torch_is_the_wheel() -> None:
    assert_the_wheel(torch)


def test_a_framework_says_what_it_has_before_torch_is_imported() -> None:
    assert_told_without_import("torch", ["cpu", "cuda", "tpu", "xla"])
