"""Ratios compare equal cases, shares compare equal functions, and unmeasured values are marked."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coordinator.reference import reader
from coordinator.reports import latencies
from coordinator.reports.table import Missing
from coordinator.results.ratios import comparisons, with_bases
from coordinator.results.statistics import Estimate, Rate
from tests.unit.coordinator.reports.charting import CPU, CUDA, XLA, latencies_of, report_data, target, verdict

STUDY = reader.read()


def test_a_ratio_is_made_of_the_cases_that_both_measured() -> None:
    """The third case is slow and was measured only on the CPU. It must not make the CPU appear slow."""
    measurements = [*latencies_of(CPU, "torch.cat", 1, 2, 1000), *latencies_of(XLA, "torch.cat", 4, 2)]
    ((one,),) = [comparison.functions for comparison in comparisons(report_data([CPU, XLA], latencies=measurements))]
    assert one.value == pytest.approx(2)
    assert (one.base_ms, one.other_ms) == (1.5, 3)
    assert isinstance(one.ratio, Estimate)
    assert one.ratio.n == 2


def test_functions_that_never_touch_a_device_have_no_ratio_and_say_why() -> None:
    measurements = [
        *latencies_of(CPU, "torch.sum", 1),
        *latencies_of(XLA, "torch.sum", 2),
        *latencies_of(CPU, "torch.Subset", 1, host_only=True),
        *latencies_of(XLA, "torch.Subset", 1, host_only=True),
    ]
    names = ("torch.sum", "torch.Subset", "torch.cat")
    data = report_data(
        [CPU, XLA], [verdict(target, name, "success") for target in (CPU, XLA) for name in names], measurements
    )
    table = latencies.latencies(data, comparisons(data))
    ratios = {record["function"]: record["ratio"] for record in table.records()}
    assert ratios == {
        "torch.sum": Estimate(pytest.approx(2), None, 1),
        "torch.Subset": Missing.host_only,
        "torch.cat": Missing.not_measured,
    }


@given(st.lists(st.tuples(st.floats(0.01, 100), st.floats(0.01, 100)), min_size=1, max_size=30))
@settings(deadline=None, max_examples=40)
def test_there_and_back_the_ratios_are_inverse(times: list[tuple[float, float]]) -> None:
    measurements = [
        *latencies_of(CPU, "torch.cat", *(here for here, _ in times)),
        *latencies_of(XLA, "torch.cat", *(there for _, there in times)),
    ]
    data = report_data([CPU, XLA], latencies=measurements)
    ((there,),) = [comparison.functions for comparison in comparisons(data, base="cpu")]
    ((back,),) = [comparison.functions for comparison in comparisons(data, base="xla")]
    assert there.value * back.value == pytest.approx(1)
    assert there.value == pytest.approx(math.exp(sum(math.log(b / a) for a, b in times) / len(times)))


class TestWhatIsSetAgainstWhat:
    def test_everything_against_the_gpu_if_there_is_one_else_against_the_cpu(self) -> None:
        assert [(base.device, other.device) for base, other in with_bases([CPU, CUDA, XLA])] == [
            ("cuda", "cpu"),
            ("cuda", "xla"),
        ]
        assert [(base.device, other.device) for base, other in with_bases([XLA, CPU])] == [("cpu", "xla")]

    def test_against_the_device_that_was_asked_for(self) -> None:
        assert [(base.device, other.device) for base, other in with_bases([CPU, CUDA, XLA], "xla")] == [
            ("xla", "cpu"),
            ("xla", "cuda"),
        ]

    def test_frameworks_are_not_mixed(self) -> None:
        jax = target(9, "cpu", "cpu", framework="jax")
        assert [(base, other) for base, other in with_bases([jax, CPU, XLA])] == [(CPU, XLA)]

    def test_the_same_device_on_two_machines_and_the_same_version_before_another(self) -> None:
        old, new = target(1, "cuda", "gpu"), target(2, "cuda", "gpu", hardware="NVIDIA A100")
        later, later_cpu = target(3, "cuda", "gpu", version="2.13.0"), target(4, "cpu", "cpu", version="2.13.0")
        assert [(base.id, other.id) for base, other in with_bases([old, new, later, later_cpu])] == [
            (1, 2),
            (1, 3),
            (3, 4),
        ]

    def test_a_simulated_target_is_not_compared(self) -> None:
        assert with_bases([CPU, target(7, "toy", "other", is_simulated=True)]) == []

    def test_one_target_alone_says_that_there_is_nothing_to_set_it_against_and_keeps_its_latencies(self) -> None:
        data = report_data(
            [CPU], [verdict(CPU, "torch.cat", "success")], latencies_of(CPU, "torch.cat", 3, 5, 4), STUDY
        )
        table = latencies.latencies(data, comparisons(data))
        (row,) = table.records()
        assert (row["function"], row["base_ms"], row["other_ms"], row["study_gpu_ms"]) == (
            "torch.cat",
            4,
            None,
            0.1,
        )
        assert any("compared with no other target" in note for note in table.notes)


def several(*ratios: float) -> Any:
    """A function for each ratio. Each takes a millisecond on the CPU."""
    measurements = [
        latency
        for number, ratio in enumerate(ratios)
        for latency in (*latencies_of(CPU, f"torch.f{number}", 1), *latencies_of(XLA, f"torch.f{number}", ratio))
    ]
    return report_data([CPU, XLA], latencies=measurements)


def test_shares_of_functions_that_are_faster_and_slower() -> None:
    data = several(0.5, 0.9, 1.0, 2.0, 20.0)
    (row,) = latencies.faster(data, comparisons(data)).records()
    assert (row["faster"], row["faster_by_half"], row["slower"]) == (Rate(2, 5), Rate(1, 5), Rate(2, 5))
    assert isinstance(row["geometric_mean"], Estimate)
    assert row["geometric_mean"].value == pytest.approx((0.5 * 0.9 * 2 * 20) ** 0.2)
    assert row["geometric_mean"].interval is not None
    assert isinstance(row["median"], Estimate)
    assert row["median"].value == pytest.approx(1)


@pytest.mark.parametrize(("factor", "count"), [(10, 1), (20, 0), (1.5, 2), (1.0001, 2)])
def test_intolerable_is_slower_by_more_than_a_factor_that_can_be_set(factor: float, count: int) -> None:
    data = several(0.5, 0.9, 1.0, 2.0, 20.0)
    (row,) = latencies.intolerable(data, comparisons(data), factor).records()
    assert row["intolerable"] == Rate(count, 5)
    assert len(latencies.intolerable_functions(data, comparisons(data), factor).rows) == count


@pytest.mark.parametrize(("functions", "row_count"), [(0, 0), (1, 1), (2, 2), (3, 3), (4, 4), (9, 4)])
def test_extremes_show_no_function_twice(functions: int, row_count: int) -> None:
    data = several(*(1.5**number for number in range(functions)))
    table = latencies.extremes(data, comparisons(data))
    names = table.column("function")
    assert len(names) == len(set(names)) == row_count


def test_beside_each_function_stands_what_the_study_published_of_it() -> None:
    measurements = [
        latency
        for name in ("torch.argsort", "torch.saddmm", "torch.new")
        for latency in (*latencies_of(CPU, name, 1), *latencies_of(XLA, name, 2))
    ]
    data = report_data([CPU, XLA], latencies=measurements, reference=STUDY)
    rows = {record["function"]: record for record in latencies.latencies(data, comparisons(data)).records()}
    assert rows["torch.argsort"]["study_tpu_ms"] == 948.21
    assert rows["torch.argsort"]["study_ratio"] == pytest.approx(6039.554, abs=0.001)
    for name in ("torch.saddmm", "torch.new"):
        assert rows[name]["study_gpu_ms"] == rows[name]["study_ratio"] == Missing.not_published


def test_a_scatter_has_one_point_a_function() -> None:
    data = several(2, 3, 4)
    table = latencies.scatter(data, comparisons(data))
    assert [(record["function"], record["base_ms"], record["other_ms"]) for record in table.records()] == [
        ("torch.f0", 1, 2),
        ("torch.f1", 1, 3),
        ("torch.f2", 1, 4),
    ]


def test_a_density_of_too_few_functions_is_left_out_and_said() -> None:
    data = several(2, 3, 4, 5, 6, 7)
    table = latencies.densities(data)
    assert {record["target"] for record in table.records()} == {"torch@2.9.0/xla"}
    assert {record["functions"] for record in table.records()} == {6}
    assert "torch@2.9.0/cpu (campaign 1) has too few different latencies for a density: 6." in table.notes


def test_nothing_measured_is_no_figure_rather_than_nought() -> None:
    data = report_data([CPU, XLA], [verdict(XLA, "torch.cat", "complete")], reference=STUDY)
    pairs = comparisons(data)
    first = latencies.faster(data, pairs).records()[0]
    assert (first["faster"], first["geometric_mean"]) == (Missing.not_measured, Missing.not_measured)
    assert latencies.intolerable(data, pairs).records()[0]["intolerable"] == Missing.not_measured
    assert latencies.latencies(data, pairs).records()[0]["base_ms"] == Missing.not_measured


def test_deciles_are_of_a_targets_functions() -> None:
    data = several(*range(1, 12))
    deciles = {record["target"]: record for record in latencies.latency_deciles(data).records()}
    assert [deciles["torch@2.9.0/xla"][f"p{percent}"] for percent in range(10, 100, 10)] == pytest.approx(
        [*range(2, 11)]
    )
    assert deciles["torch@2.9.0/cpu"]["functions"] == 11
