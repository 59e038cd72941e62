"""The case with which a function is timed if not all of its cases are timed."""

from __future__ import annotations

import pytest

from protocol.catalogue import CatalogueCase, representatives


def case(id: str, *tags: str) -> CatalogueCase:
    return CatalogueCase(id=id, function=id.partition("/")[0], tags=list(tags))


def test_each_function_has_one() -> None:
    assert representatives([case("f/1"), case("f/2"), case("g/1"), case("f/3")]) == {"f/1", "g/1"}
    assert representatives([]) == frozenset()


@pytest.mark.parametrize(
    ("cases", "representative"),
    [
        ([case("f/1", "empty", "real"), case("f/2", "plain", "real")], "f/2"),
        ([case("f/1", "plain", "complex"), case("f/2", "plain", "real"), case("f/3", "plain", "real")], "f/2"),
        ([case("f/1", "plain", "real", "refuses"), case("f/2", "0-dim", "integer")], "f/2"),
        ([case("f/1", "plain", "real", "form-only"), case("f/2", "broadcast", "real")], "f/2"),
        ([case("f/1", "plain", "real", "gradient"), case("f/2", "empty", "complex")], "f/2"),
        ([case("f/1", "plain", "integer"), case("f/2", "strided", "real")], "f/1"),
    ],
)
def test_it_is_the_plainest(cases: list[CatalogueCase], representative: str) -> None:
    assert representatives(cases) == {representative}


def test_a_second_shape_is_timed_beside_the_representative() -> None:
    cases = [case("f/1", "plain", "real", "recompiled"), case("f/2", "plain", "real"), case("g/1", "recompiled")]
    assert representatives(cases) == {"f/1", "f/2", "g/1"}
