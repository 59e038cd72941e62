"""Since when a function works: only what charted versions show, and a change with both versions around it."""

from __future__ import annotations

import pytest

from coordinator.atlas.marks import Mark
from coordinator.atlas.versions import Observation, since


@pytest.mark.parametrize(
    ("marks", "sentence"),
    [
        ([], None),
        ([("2.8", None)], None),
        ([("2.9", Mark.works)], "works in 2.9, the only version that was charted"),
        ([("2.8", None), ("2.9", Mark.works)], "works in 2.9, the only version that was charted"),
        (
            [("2.7", Mark.works), ("2.8", Mark.works), ("2.9", Mark.works)],
            "works in all 3 charted versions, 2.7 to 2.9",
        ),
        (
            [("2.6", Mark.fails), ("2.9", Mark.works), ("2.10", Mark.works)],
            "works since 2.9 as charted; fails in 2.6, and no version between them was charted",
        ),
        (
            [("2.6", Mark.works), ("2.7", Mark.fails), ("2.8", Mark.works)],
            "works since 2.8 as charted; fails in 2.7, and no version between them was charted",
        ),
    ],
)
def test_since_when(marks: list[tuple[str, Mark | None]], sentence: str | None) -> None:
    assert since([Observation(version, mark) for version, mark in marks]) == sentence
