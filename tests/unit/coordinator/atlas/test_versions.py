"""The version since which a function works: only charted versions count, and a change names the versions before and
after it."""

from __future__ import annotations

import pytest

from coordinator.atlas.marks import Mark
from coordinator.atlas.versions import Span, VersionMark, since, spans


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
    assert since(spans([VersionMark(version, mark) for version, mark in marks])) == sentence


def test_a_span_has_the_charted_versions_around_it_as_bounds() -> None:
    marks = {"2.6": Mark.works, "2.7": None, "2.8": Mark.works, "2.9": Mark.fails, "2.11": Mark.works}
    history = spans([VersionMark(version, mark) for version, mark in marks.items()])
    assert history == (
        Span(Mark.works, ("2.6", "2.8"), since_after=None, until_before="2.9"),
        Span(Mark.fails, ("2.9",), since_after="2.8", until_before="2.11"),
        Span(Mark.works, ("2.11",), since_after="2.9", until_before=None),
    )
    assert (history[0].since, history[0].until) == ("2.6", "2.8")
