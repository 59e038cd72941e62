"""The sample: properties of every draw."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinator.catalogue.models import DrawnFunction, FunctionSample
from coordinator.catalogue.releases import make_release
from coordinator.catalogue.sample import chart_sample, deciles, draw, population, sample_sentence
from coordinator.errors import CatalogueError
from coordinator.results.samples import sample_rates
from protocol.host_only import HostOnly
from tests.unit.coordinator.catalogue.test_coverage import NAMES, SMALL, counts
from tests.unit.coordinator.reports.charting import CPU, verdict

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
        decile_rows = [row for row in sample.drawn if row.stratum == f"decile{number * 10}"]
        assert {(row.function, row.uses) for row in decile_rows} <= set(decile)
        assert len(decile_rows) == per_decile or f"decile{number * 10}" in sample.short


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
    gone_row = data.draw(st.sampled_from(before.drawn))
    after = draw(uses, top=0, per_decile=3, seed=seed, replacements={gone_row.function: "it is gone"})
    kept_rows = [row for row in after.drawn if row.instead_of is None]
    assert kept_rows == [row for row in before.drawn if row != gone_row]
    for row in after.drawn:
        if row.instead_of is not None:
            assert (row.instead_of, row.because, row.stratum) == (gone_row.function, "it is gone", gone_row.stratum)
            assert row.function not in {other.function for other in before.drawn}


def test_what_is_in_no_population_cannot_be_replaced() -> None:
    with pytest.raises(CatalogueError, match=r"torch\.rage is not in the population"):
        draw({"torch.range": 3}, top=1, per_decile=1, seed=0, replacements={"torch.rage": "a reason"})


def sample(*drawn_functions: DrawnFunction) -> FunctionSample:
    return FunctionSample(
        name="s", surface="torch@1.0", corpus="c", seed=3, top=1, per_decile=0, members=False, guessed=False,
        population=9, drawn=drawn_functions,
    )  # fmt: skip


def test_a_function_is_charted_under_its_own_name_else_another_of_its_names_else_not() -> None:
    chart = chart_sample(
        sample(
            DrawnFunction(function="torch.add", aliases=("torch.math.add",), uses=3, stratum="top1"),
            DrawnFunction(function="torch.conv", aliases=("torch.nn.conv", "torch.f.conv"), uses=2, stratum="top1"),
            DrawnFunction(function="torch.gone", uses=1, stratum="top1"),
        ),
        ["torch.math.add", "torch.add", "torch.nn.conv", "torch.f.conv"],
    )
    assert [row.charted_as for row in chart.drawn] == ["torch.add", "torch.f.conv", None]
    assert (chart.functions, chart.not_charted) == (["torch.add", "torch.f.conv"], ["torch.gone"])
    assert sample_sentence(chart, "library") == (
        "Its functions are the sample s: 3 of 9 functions of torch@1.0 in use in c, the 1 most used (seed 3). "
        "The suite library has cases of 2; 1 are not charted: torch.gone."
    )


def test_what_never_reaches_a_device_is_not_drawn_from() -> None:
    release = make_release(SMALL, counts(NAMES), HostOnly({"torch.no_*": "it sets a mode"}))
    assert population(release, members=False, with_guesses=False) == {"torch.add": 9, "torch.mul": 2}
    assert population(release, members=True, with_guesses=True) == {
        "torch.add": 11, "torch.mul": 2, "torch.Module.train": 5,
    }  # fmt: skip


def test_the_rates_of_a_sample_are_of_what_counts_by_how_it_was_drawn() -> None:
    rows = [
        DrawnFunction(function=f"torch.f{number}", uses=1, stratum="top2" if number < 2 else "decile10")
        for number in range(6)
    ]
    sample_chart = chart_sample(sample(*rows), [f"torch.f{number}" for number in range(5)])
    verdicts = [
        verdict(CPU, "torch.f0", "success"),
        verdict(CPU, "torch.f1", "partial"),
        verdict(CPU, "torch.f2", "success"),
        verdict(CPU, "torch.f3", "unknown"),
        # It is about another device, and no evidence of a port.
        verdict(CPU, "torch.f4", "complete", of_another_device=1),
        verdict(CPU, "torch.other", "complete"),
    ]
    rates = {rate.part: rate for rate in sample_rates(sample_chart, [CPU], verdicts)}
    assert {part: (rate.drawn, rate.charted, rate.ports.count, rate.ports.n) for part, rate in rates.items()} == {
        "all": (6, 5, 2, 3), "the most used": (2, 2, 1, 2), "drawn from the deciles": (4, 3, 1, 1),
    }  # fmt: skip
