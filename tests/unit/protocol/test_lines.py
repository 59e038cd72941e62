"""Lines from chunks: however the bytes arrive, every line comes once and complete, and no line can grow without
limit."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.lines import EndlessLineError, LineReader

LINES = [b'{"text": "\xe2\x80\xa8 and \xc2\x85"}', b"", b"\r", b"last"]


@given(st.lists(st.integers(0, 40)))
def test_lines_are_whole_wherever_the_chunks_are_cut(cuts: list[int]) -> None:
    content = b"".join(line + b"\n" for line in LINES) + b"not yet"
    places = [0, *sorted(min(cut, len(content)) for cut in cuts), len(content)]
    reader = LineReader(100)
    lines = [line for start, end in itertools.pairwise(places) for line in reader.feed(content[start:end])]
    assert lines == LINES
    assert reader.feed(b" ended\n") == [b"not yet ended"]


def test_a_line_without_end_is_given_up_and_a_long_one_is_not() -> None:
    assert LineReader(10).feed(b"0123456789\n0123456789") == [b"0123456789"]
    reader = LineReader(10)
    assert reader.feed(b"01234") == []
    with pytest.raises(EndlessLineError):
        reader.feed(b"567890")
