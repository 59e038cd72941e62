"""Figures are written with three digits and a unit, never with an exponent, and never as zero if they are unknown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinator.figures.formats import duration, fraction, join_words, latency, number, plural, ratio, significant


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (None, "–"),
        (0.0, "0 µs"),
        (1e-12, "0.000000001 µs"),
        (0.00123, "1.23 µs"),
        (0.0851, "85.1 µs"),
        (0.9994, "999 µs"),
        (0.9996, "1 ms"),
        (1.0, "1 ms"),
        (999.4, "999 ms"),
        (999.9, "1 s"),
        (2_050.0, "2.05 s"),
        (12_345_000.0, "12,345 s"),
    ],
)
def test_latencies_have_three_figures_and_a_unit(ms: float | None, text: str) -> None:
    assert latency(ms) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "–"),
        (0, "0 s"),
        (0.25, "250 ms"),
        (0.9999, "1 s"),
        (59.4, "59 s"),
        (59.6, "1 min 00 s"),
        (3599.6, "1 h 00 min"),
        (7800, "2 h 10 min"),
    ],
)
def test_durations_read_as_people_say_them(seconds: float | None, text: str) -> None:
    assert duration(seconds) == text


@given(st.floats(1e-12, 1e12))
def test_a_figure_has_no_exponent_and_is_right_to_half_a_unit_of_its_third_digit(value: float) -> None:
    text = significant(value)
    assert "e" not in text
    assert float(text.replace(",", "")) == pytest.approx(value, rel=0.0051)


def test_a_ratio_a_count_and_a_fraction() -> None:
    assert [ratio(value) for value in (None, 0.778, 5.0, 999.6, 12_345.0)] == ["–", "×0.778", "×5", "×1,000", "×12,345"]
    assert [number(value) for value in (None, 0, 1002)] == ["–", "0", "1,002"]
    assert [fraction(3, 4), fraction(0, 0)] == ["3/4", "–"]
    assert [plural(1, "case"), plural(1002, "case")] == ["1 case", "1,002 cases"]
    assert [join_words([]), join_words(["a"]), join_words(["a", "b", "c"])] == ["", "a", "a, b and c"]
