"""A number is known by the array that it was picked out of, and by the numbers that it was computed of."""

from __future__ import annotations

import gc

import numpy as np

from runners.suite.picks import Picks


def sizes_behind(picks: Picks, number: np.ndarray) -> set[int]:
    """The sizes of the arrays that a number comes from, and of those that these are parts of."""
    return {source.numbers for pick in picks.behind(number) for source in pick.sources()}


def numbers(*shape: int) -> np.ndarray:
    return np.zeros(shape)


def test_each_number_that_is_picked_is_one_of_its_array() -> None:
    picks, array, parts = Picks(np.size), numbers(3), [numbers(1) for _ in range(3)]
    picks.note_parts(array, parts)
    assert [sizes_behind(picks, part) for part in parts] == [{3}] * 3
    assert len({pick.source for part in parts for pick in picks.behind(part)}) == 1
    assert len({pick for part in parts for pick in picks.behind(part)}) == 3


def test_arrays_of_one_size_are_two() -> None:
    picks, parts = Picks(np.size), [numbers(1), numbers(1)]
    arrays = [numbers(3), numbers(3)]
    picks.note_parts(arrays[0], parts[:1])
    picks.note_parts(arrays[1], parts[1:])
    assert len({pick.source for part in parts for pick in picks.behind(part)}) == 2


def test_another_form_of_an_array_is_the_same_and_a_part_belongs_to_the_whole() -> None:
    picks, array, reshaped_array, row, number = Picks(np.size), numbers(2, 3), numbers(3, 2), numbers(2), numbers(1)
    picks.note_parts(array, [reshaped_array])
    picks.note_parts(reshaped_array, [row])
    picks.note_parts(row, [number])
    assert sizes_behind(picks, number) == {2, 6}


def test_a_number_computed_of_picked_ones_is_made_of_them_all() -> None:
    picks, array, one, other, both = Picks(np.size), numbers(2), numbers(1), numbers(1), numbers(1)
    picks.note_parts(array, [one, other])
    picks.note_results([one, other, numbers(5)], [both])
    assert picks.behind(both) == picks.behind(one) | picks.behind(other)
    picks.note_parts(both, [again := numbers()])
    assert picks.behind(again) == picks.behind(both)


def test_an_array_is_made_of_no_number_and_neither_is_what_was_computed_of_arrays() -> None:
    picks, array, one, several, total = Picks(np.size), numbers(2), numbers(1), numbers(4), numbers(1)
    picks.note_parts(array, [one])
    picks.note_results([one], [several])
    picks.note_results([array], [total])
    assert not picks.behind(several)
    assert not picks.behind(total)


def test_nothing_is_kept_of_a_number_that_is_gone() -> None:
    picks, array = Picks(np.size), numbers(2)
    for _ in range(100):
        picks.note_parts(array, [numbers(1)])
        gc.collect()
        assert not picks.behind(numbers(1))
