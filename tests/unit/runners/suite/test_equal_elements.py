"""Equal elements: the gate asks for unique ones only where a result can show which of several equal ones was taken."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from freezing.common.gate import SampleGate
from freezing.common.samples import Sample
from protocol.enums import GRADIENT
from runners.suite.frozen import PackWriter
from tests.unit.runners.suite.test_undetermined_samples import Array, Called


def largest(values: Array) -> Array:
    return values.max(keepdims=True)


def place_of_largest(values: Array) -> Array:
    return np.argmax(values, keepdims=True)


@pytest.mark.parametrize(
    ("call", "shows_places", "kind", "reasons"),
    [
        (largest, True, "plain", []),
        (place_of_largest, True, "plain", ["not unique"]),
        (largest, True, GRADIENT, ["not unique"]),
        (largest, False, "plain", ["not unique"]),
    ],
)
def test_equal_elements_are_rejected_where_their_places_show(
    call: Callable[[Array], Array], shows_places: bool, kind: str, reasons: list[str]
) -> None:
    pack = PackWriter()
    subject = Called(call)
    subject.first_of_equals, subject.shows_places = True, shows_places
    gate = SampleGate(subject, pack)
    digest = pack.add(np.array([3, 7, 7], np.float32), "float32")
    gate.admit([Sample("float32-0", "float32", "{}", (digest,), (kind,), 3)], 1)
    assert [reason for _, reason, _ in gate.left_out] == reasons


@pytest.mark.parametrize(
    ("kind", "rows", "reasons"),
    [
        ("sized-rows", [[3, 7, 5], [3, 7, 5]], []),
        ("sized-rows", [[3, 7, 7], [3, 7, 7]], ["not unique"]),
        ("plain", [[3, 7, 5], [3, 7, 5]], ["not unique"]),
    ],
)
def test_large_arrays_may_repeat_rows_of_distinct_elements(
    kind: str, rows: list[list[float]], reasons: list[str]
) -> None:
    pack = PackWriter()
    subject = Called(lambda values: np.argmax(values, -1))
    subject.first_of_equals, subject.shows_places = True, True
    gate = SampleGate(subject, pack)
    digest = pack.add(np.array(rows, np.float32), "float32")
    gate.admit([Sample("float32-0", "float32", "{}", (digest,), (kind,), 6)], 1)
    assert [reason for _, reason, _ in gate.left_out] == reasons
