"""Variants whose numbers all have one sign: of which functions they are made, with which sign and without which
options."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from freezing.common.variants import Call
from freezing.torch.one_signed import reduces, variants_of, without

PARTS = {"array": 0}


def call(arrays: list[Any], inputs: set[int], **options: Any) -> Call:
    tree = {"tuple": [[PARTS], {"mapping": [[name, value] for name, value in options.items()]}]}
    return Call("f/0", "float32", frozenset(), tuple(map(np.asarray, arrays)), tree, frozenset(inputs))


@pytest.mark.parametrize("name", [
    "torch.amax",
    "torch.Tensor.cummin",
    "torch.masked.argmax",
    "torch.nn.functional.max_pool2d",
    "torch.nn.AdaptiveMaxPool3d",
    "torch.nn.functional.embedding_bag",
    "torch.nn.EmbeddingBag",
    "torch.Tensor.scatter_reduce_",
    "torch.constant_pad_nd",
    "torch.nn.functional.pad",
    "torch.logcumsumexp",
])  # fmt: skip
def test_functions_that_reduce_or_pad_are_recognized_by_name(name: str) -> None:
    assert reduces(name)


@pytest.mark.parametrize("name", ["torch.clamp_max", "torch.maximum", "torch.fmin", "torch.add", "torch.nn.Linear"])
def test_other_functions_have_no_such_variants(name: str) -> None:
    assert not reduces(name)


@pytest.mark.parametrize(("function", "options", "values"), [
    ("torch.amax", {}, [-3, -1, -2.5]),
    ("torch.amin", {}, [3, 1, 2.5]),
    ("torch.scatter_reduce", {"reduce": "amax"}, [-3, -1, -2.5]),
    ("torch.scatter_reduce", {"reduce": "amin"}, [3, 1, 2.5]),
])  # fmt: skip
def test_a_maximum_gets_negative_numbers_and_a_minimum_positive_ones(
    function: str, options: dict[str, Any], values: list[float]
) -> None:
    _, new_call = next(variants_of(function, call([[-2.0, 0.0, 1.5]], {0}, **options)))
    assert new_call.arrays[0].tolist() == values


def test_each_option_is_left_out_in_turn_except_arrays_and_none() -> None:
    options = {"padding_idx": 2, "mode": "max", "per_sample_weights": None, "offsets": {"array": 1}}
    variants = dict(variants_of("torch.nn.functional.embedding_bag", call([[1.0], [0]], {0, 1}, **options)))
    assert list(variants) == ["all-negative", "without-padding_idx-all-negative", "without-mode-all-negative"]
    new_tree = variants["without-padding_idx-all-negative"].written
    assert [name for name, _ in new_tree["tuple"][1]["mapping"]] == ["mode", "per_sample_weights", "offsets"]
    assert variants["all-negative"].arrays[1].tolist() == [0]


def test_a_call_without_floats_among_its_inputs_changes_those_of_its_state() -> None:
    variants = dict(variants_of("torch.nn.EmbeddingBag", call([[1.0, -2.0], [0]], {1})))
    assert variants["all-negative"].arrays[0].tolist() == [-2.0, -3.0]
    assert not list(variants_of("torch.amax", call([[1, 2]], {0})))


def test_the_written_call_itself_stays_as_it_is() -> None:
    tree = call([[1.0]], {0}, mode="max").written
    assert without(tree, "mode")["tuple"][1] == {"mapping": []}
    assert tree["tuple"][1] == {"mapping": [["mode", "max"]]}
