"""Variants with other integers in the call: shapes, windows and counts."""

from __future__ import annotations

import json

import numpy as np

from freezing.common.numbered import NUMBER_VARIANTS
from freezing.common.variants import Call

BY_NAME = {variant.name: variant for variant in NUMBER_VARIANTS}


def call_of(text: str, *arrays: np.ndarray) -> Call:
    return Call("f/one", "float32", frozenset(), arrays, json.loads(text), frozenset(range(len(arrays))))


def test_integers_above_one_become_odd_and_arrays_stay_or_get_longer() -> None:
    text = (
        '{"tuple":[[{"array":0},{"tuple":[4,1]},-2,true],{"mapping":[["size",2],["to",{"named":1,"dtype":"int8"}]]}]}'
    )
    odd = '{"tuple":[[{"array":0},{"tuple":[9,1]},-2,true],{"mapping":[["size",5],["to",{"named":1,"dtype":"int8"}]]}]}'
    call = call_of(text, np.ones((2, 1), np.float32))
    for name, shape in (("numbers-odd", (2, 1)), ("shapes-odd", (5, 1))):
        new_call = BY_NAME[name].of(call)
        assert new_call is not None
        assert new_call.written == json.loads(odd)
        assert new_call.arrays[0].shape == shape


def test_a_call_without_integers_has_no_such_variant() -> None:
    call = call_of('{"tuple":[[{"array":0},1],{"mapping":[]}]}', np.ones(3, np.float32))
    assert all(variant.of(call) is None for variant in NUMBER_VARIANTS)


def test_a_call_without_arrays_only_gets_other_integers() -> None:
    call = call_of('{"tuple":[[{"tuple":[3,4]}],{"mapping":[]}]}')
    assert BY_NAME["numbers-odd"].of(call) is not None
    assert BY_NAME["shapes-odd"].of(call) is None
