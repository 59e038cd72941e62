"""The sample: what holds for every draw."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinator.catalogue.sample import deciles, draw
from coordinator.errors import CatalogueError

USES = st.dictionaries(st.text("abcdef.", min_size=1, max_size=6), st.integers(1, 50), max_size=120)


@given(USES, st.integers(0, 30), st.integers(0, 8), st.integers())
def test_a_draw_repeats_holds_each_function_once_and_keeps_to_its_strata(
    uses: dict[str, int], top: int, per_decile: int, seed: int
) -> None:
    sample = draw(uses, top=top, per_decile=per_decile, seed=seed)
    assert sample == draw(dict(reversed(uses.items())), top=top, per_decile=per_decile, seed=seed)
    names = [row.function for row in sample.drawn]
    assert len(set(names)) == len(names)
    most = [row.uses for row in sample.drawn if row.stratum == f"top{top}"]
    assert most == sorted(uses.values(), reverse=True)[:top]
    parts = deciles(sorted(uses.items(), key=lambda row: (row[1], row[0])))
    for number, decile in enumerate(parts, 1):
        found = [row for row in sample.drawn if row.stratum == f"decile{number * 10}"]
        assert {(row.function, row.uses) for row in found} <= set(decile)
        assert len(found) == per_decile or f"decile{number * 10}" in sample.short


@given(st.lists(st.integers(), max_size=200))
def test_deciles_hold_all_in_order_and_differ_by_one_at_most(numbers: list[int]) -> None:
    parts = deciles([(str(number), number) for number in numbers])
    assert [row for part in parts for row in part] == [(str(number), number) for number in numbers]
    sizes = {len(part) for part in parts}
    assert max(sizes) - min(sizes) <= 1


@given(USES, st.integers(), st.data())
def test_a_replacement_comes_from_the_same_decile_and_changes_nothing_else(
    uses: dict[str, int], seed: int, data: st.DataObject
) -> None:
    before = draw(uses, top=0, per_decile=3, seed=seed)
    if not before.drawn:
        return
    gone = data.draw(st.sampled_from(before.drawn))
    after = draw(uses, top=0, per_decile=3, seed=seed, replaced={gone.function: "it is gone"})
    kept = [row for row in after.drawn if row.instead_of is None]
    assert kept == [row for row in before.drawn if row != gone]
    for row in after.drawn:
        if row.instead_of is not None:
            assert (row.instead_of, row.because, row.stratum) == (gone.function, "it is gone", gone.stratum)
            assert row.function not in {other.function for other in before.drawn}


def test_what_is_in_no_population_cannot_be_replaced() -> None:
    with pytest.raises(CatalogueError, match=r"torch\.rage is not in the population"):
        draw({"torch.range": 3}, top=1, per_decile=1, seed=0, replaced={"torch.rage": "a reason"})
