"""The required content of a figure, and when there is no figure."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import altair as alt
import pytest
import vl_convert

from coordinator.catalogue.coverage import coverage
from coordinator.catalogue.models import DrawnFunction
from coordinator.catalogue.releases import make_release
from coordinator.catalogue.sample import chart_sample
from coordinator.errors import NotFoundError
from coordinator.reference.models import Reference
from coordinator.reference.reader import read
from coordinator.reports.charts.figure import Figure
from coordinator.reports.charts.theme import CONFIG, DARK, SHEET, dark, of_both
from coordinator.reports.contents import CHAPTERS, contents_of
from coordinator.reports.options import ReportOptions
from coordinator.results.judges import JudgedCases
from coordinator.results.report_data import FirstCallLatency, PlacementCount, ReportData
from protocol.host_only import HostOnly
from tests.unit.coordinator.catalogue.test_coverage import NAMES, SMALL, counts
from tests.unit.coordinator.catalogue.test_sample import sample
from tests.unit.coordinator.reports.charting import CPU, CUDA, XLA, latencies_of, report_data, target, verdict

STUDY = read()
TOY = target(9, "toy", "other", is_simulated=True)
MARKUP = "torch.<img src=x onerror=alert(1)>"


def figures_of(of: ReportData, tolerable: float = 10) -> dict[str, Figure]:
    return {figure.id: figure for figure in contents_of(of, ReportOptions(tolerable=tolerable)).figures}


def values(figure: Figure) -> list[dict[str, Any]]:
    assert figure.bare is not None
    rows: list[dict[str, Any]] = figure.bare["data"]["values"]
    return rows


def fleet(reference: Reference | None = None, *more: Any) -> ReportData:
    """Two devices and eight functions. On xla one function fails, one falls back, and one is 20 times slower."""
    functions = [f"torch.function_{n}" for n in range(7)] + [MARKUP]
    verdicts = [verdict(CPU, name, "success") for name in functions]
    verdicts += [verdict(XLA, name, "success") for name in functions[2:]]
    verdicts += [
        verdict(XLA, functions[0], "complete", cause="type"),
        verdict(XLA, functions[1], "success", "complete", cause_on_device="placement"),
    ]
    latencies = [latency for n, name in enumerate(functions) for latency in latencies_of(CPU, name, 1.0 + n)]
    latencies += [
        latency for n, name in enumerate(functions[2:], 2) for latency in latencies_of(XLA, name, 2.0 + 2 * n)
    ]
    latencies += latencies_of(XLA, functions[1], 40.0)
    data = report_data([CPU, XLA, *more], verdicts, latencies, reference)
    placements = (
        PlacementCount(CPU.id, "on_device", 8),
        PlacementCount(XLA.id, "on_device", 6),
        PlacementCount(XLA.id, "fell_back", 1),
    )
    calls = tuple(FirstCallLatency(XLA.id, name, 100.0, 30.0, 2.0) for name in functions)
    return ReportData(**{**vars_of(data), "placements": placements, "first_calls": calls})


def vars_of(of: ReportData) -> dict[str, Any]:
    return {name: getattr(of, name) for name in of.__dataclass_fields__}


def test_every_figure_of_a_full_campaign_is_drawn_and_described() -> None:
    figures = figures_of(fleet())
    assert [figure.id for figure in figures.values() if figure.spec is None] == []
    for figure in figures.values():
        assert figure.spec is not None
        assert figure.spec["title"]["text"] == figure.title
        assert figure.alternative.endswith(".")
        assert figure.silent == ""
        json.dumps(figure.spec, allow_nan=False)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_figure_is_valid_vega_lite_in_its_whole(theme: str) -> None:
    """The test includes title, style and rows, which Altair has not checked."""
    for figure in figures_of(fleet(STUDY)).values():
        if figure.spec is not None:
            alt.Chart.from_dict(dark(figure.spec) if theme == "dark" else figure.spec, validate=True)


def test_what_is_drawn_is_of_a_version_that_can_be_drawn() -> None:
    major_minor = ".".join(alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2])
    assert major_minor in vl_convert.get_vegalite_versions()
    for figure in figures_of(fleet()).values():
        assert figure.spec is not None
        assert figure.spec["$schema"].endswith(f"/{alt.SCHEMA_VERSION}.json")


def test_neither_a_command_nor_a_start_waits_for_the_libraries_that_draw() -> None:
    program = "import sys, coordinator.cli, coordinator.app; print({'altair', 'vl_convert'} & sys.modules.keys())"
    process = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert process.stdout.strip() == "set()"


def test_two_targets_never_share_both_colour_and_dash() -> None:
    targets = [target(n, f"d{n}", "gpu") for n in range(36)]
    latencies = [
        latency for on in targets for n in range(6) for latency in latencies_of(on, f"torch.function_{n}", 1.0 + n)
    ]
    densities = figures_of(report_data(targets, (), latencies))["densities"].bare
    assert densities is not None
    encoding = next(part["encoding"] for part in _walk(densities) if isinstance(part, dict) and "encoding" in part)
    colours, dashes = (encoding[channel]["scale"]["range"] for channel in ("color", "strokeDash"))
    assert len(set(zip(colours, map(tuple, dashes), strict=True))) == len(colours) == len(targets)


def test_figures_of_the_studys_sample_come_with_the_study_only() -> None:
    assert {"failures_by_decile", "failures_in_top20"} == figures_of(fleet(STUDY)).keys() - figures_of(fleet()).keys()


def test_rates_show_both_ways_of_counting_with_n_and_interval() -> None:
    rows = [value for value in values(figures_of(fleet())["portability"]) if value["verdict"] == "passes"]
    both = {row["who"]: row for row in rows if "xla" in row["who"]}
    plain, strict = both["torch@2.9.0/xla, anywhere"], both["torch@2.9.0/xla, on device"]
    assert (plain["percent"], strict["percent"]) == (87.5, 75.0)
    assert plain["n"] == strict["n"] == 8
    assert plain["low"] < plain["percent"] < plain["high"]
    assert "Counted anywhere, a fallback to the host passes" in figures_of(fleet())["portability"].subtitle[0]


def test_the_subtitle_says_whose_figures_they_are_and_of_which_revision() -> None:
    assert figures_of(fleet())["causes"].subtitle[0].startswith("Campaign 1; suite paper r1. ")
    assert figures_of(fleet(STUDY))["causes"].subtitle[0].startswith("Campaign 1, beside paper-2023; suite paper r1. ")


def test_xla_on_a_host_cpu_is_no_tpu_in_every_figure_alone() -> None:
    for figure in figures_of(fleet(STUDY)).values():
        subtitle = " ".join(figure.subtitle)
        assert "torch@2.9.0/xla: XLA on the host CPU, not a TPU." in subtitle
        if figure.spec is not None:
            assert "not a TPU" in " ".join(figure.spec["title"]["subtitle"])


def test_a_simulated_target_says_so_and_is_compared_with_nothing() -> None:
    of = fleet(None, TOY)
    of = ReportData(**{**vars_of(of), "verdicts": (*of.verdicts, verdict(TOY, "torch.cat", "success"))})
    figures = figures_of(of)
    assert any(value["who"].startswith("torch@2.9.0/toy (simulated)") for value in values(figures["portability"]))
    assert not any("toy" in value["pair"] for value in values(figures["scatter"]))


def test_the_scatter_has_a_point_a_function_on_two_logarithmic_axes() -> None:
    scatter = figures_of(fleet())["scatter"]
    (one,) = [value for value in values(scatter) if value["function"] == "torch.function_1"]
    assert (one["x"], one["y"], one["pair"]) == (2.0, 40.0, "torch@2.9.0/cpu → xla")
    assert len(values(scatter)) == 7
    axes = _axes(scatter)
    assert axes
    assert all(axis["scale"]["type"] == "log" and "ms" in axis["title"] for axis in axes)


@pytest.mark.parametrize(("tolerable", "count"), [(10, 1), (30, 0)])
def test_what_is_intolerable_can_be_set(tolerable: float, count: int) -> None:
    (row,) = values(figures_of(fleet(), tolerable)["intolerable"])
    assert row["shown"].endswith(f"({count} of 7)")
    assert str(tolerable) in row["part"]


def test_the_study_stands_beside_and_says_that_it_is_the_study() -> None:
    rows = values(figures_of(fleet(STUDY))["scatter"])
    assert {row["pair"] for row in rows if row["published"]} == {"paper-2023: torch@1.12.0/gpu-t4 → tpu-v3-8"}
    assert sum(row["published"] for row in rows) == 43


def test_axes_carry_their_unit() -> None:
    figures = [figure for figure in figures_of(fleet(STUDY)).values() if figure.bare is not None]
    for figure in figures:
        titles = [axis["title"] for axis in _axes(figure)]
        assert titles
        assert all(any(unit in title for unit in ("(%)", "(ms", "times as long", "(share)")) for title in titles)


def test_an_empty_campaign_has_sentences_instead_of_figures() -> None:
    for figure in figures_of(report_data([CPU, XLA])).values():
        assert figure.spec is None
        assert figure.silent == figure.alternative
        assert len(figure.silent) > 20


def test_an_empty_campaign_beside_the_study_does_not_pass_for_it() -> None:
    figures = figures_of(report_data([CPU, XLA], reference=STUDY))
    shown_figures = [figure for figure in figures.values() if figure.spec is not None]
    assert {shown_figure.id for shown_figure in shown_figures} >= {"portability", "scatter", "densities"}
    for shown_figure in shown_figures:
        assert shown_figure.subtitle[0] == "Campaign 1 has nothing to draw yet: the figure shows published values only."


def test_a_campaign_in_which_everything_failed() -> None:
    names = [f"torch.function_{n}" for n in range(6)]
    figures = figures_of(
        report_data([CPU, XLA], [verdict(on, name, "complete", cause="crash") for on in (CPU, XLA) for name in names])
    )
    assert {value["percent"] for value in values(figures["portability"]) if value["verdict"] == "fails all"} == {100}
    assert {value["cause"] for value in values(figures["causes"])} == {"crash"}
    assert "nothing to compare" in figures["scatter"].silent
    assert "No case passed" in figures["placement"].silent


def test_where_nothing_failed_there_are_no_causes() -> None:
    causes = figures_of(report_data([CPU], [verdict(CPU, "torch.cat", "success")]))["causes"]
    assert causes.silent == "No function failed, so there are no causes to draw."


def test_one_target_only_is_compared_with_nothing() -> None:
    latencies = [latency for n in range(6) for latency in latencies_of(CPU, f"torch.function_{n}", 1.0 + n)]
    figures = figures_of(
        report_data([CPU], [verdict(CPU, f"torch.function_{n}", "success") for n in range(6)], latencies)
    )
    assert figures["densities"].spec is not None
    for id in ("scatter", "slowdown", "faster", "intolerable"):
        assert "chart a second device" in figures[id].silent


def test_one_function_is_too_few_for_a_cloud_of_points_or_a_density() -> None:
    latencies = [*latencies_of(CPU, "torch.cat", 1.0), *latencies_of(XLA, "torch.cat", 2.0)]
    figures = figures_of(report_data([CPU, XLA], [verdict(XLA, "torch.cat", "success")], latencies))
    assert figures["scatter"].silent.startswith("Only one function was measured on both")
    assert "five different latencies" in figures["densities"].silent
    (row,) = values(figures["intolerable"])
    assert (row["low"], row["high"]) == (0, pytest.approx(79.3, abs=0.1))


def test_thousands_of_points_are_thinned_and_that_is_said() -> None:
    latencies = [latency for n in range(6000) for on in (CPU, CUDA) for latency in latencies_of(on, f"f{n}", 1.0 + n)]
    scatter = figures_of(report_data([CPU, CUDA], (), latencies))["scatter"]
    assert len(values(scatter)) == 5000
    assert "evenly drawn" in scatter.subtitle[0]


def test_a_dark_figure_trades_colours_and_no_data() -> None:
    figure = figures_of(fleet())["portability"]
    night = dark(figure.spec)
    assert night["data"] == figure.spec["data"]  # type: ignore[index]
    text = json.dumps({name: member for name, member in night.items() if name != "data"})
    assert not [light for light in DARK if light in text]
    assert night["config"]["background"] == DARK[SHEET]


@pytest.mark.parametrize(("colours", "sheet"), [(list(DARK), SHEET), (list(DARK.values()), DARK[SHEET])])
def test_what_is_written_can_be_read_on_its_sheet(colours: list[str], sheet: str) -> None:
    """The contrast is at least 4.5 for text and 3 for graphics."""
    text = {CONFIG["axis"]["labelColor"], CONFIG["legend"]["titleColor"]}
    unseen = {SHEET, CONFIG["axis"]["gridColor"]}
    for light, colour in zip(DARK, colours, strict=True):
        if light not in unseen:
            assert contrast(colour, sheet) >= (4.5 if light in text else 3), colour


def test_a_picture_for_pages_turns_dark_with_them() -> None:
    svg = of_both(f'<svg width="1"><rect width="1" height="1" fill="{SHEET}"/><text fill="#16242e">a</text></svg>')
    assert '<rect width="1" height="1" fill="none"/>' in svg
    assert "@media (prefers-color-scheme:dark)" in svg
    assert '[fill="#16242e"]{fill:#e6edf2}' in svg


def test_an_unknown_figure_or_table_names_those_that_there_are() -> None:
    of = fleet()
    contents = contents_of(of, ReportOptions())
    with pytest.raises(NotFoundError, match="there is no figure 'x'; choose one of: portability, causes, placement, "):
        contents.figure("x")
    with pytest.raises(NotFoundError, match="there is no table '<b>'; choose one of: portability, counts, "):
        contents.table("<b>")


def test_every_figure_and_table_has_its_chapter() -> None:
    of = fleet(STUDY, target(9, "tpu-lowered", "other"))
    names = DrawnFunction(function="torch.function_0", uses=2, stratum="top1")
    drawn_from = make_release(SMALL, counts(NAMES), HostOnly({}))
    of = replace(
        of,
        sample=chart_sample(sample(names), ["torch.function_0"]),
        coverages=(coverage("paper", ["torch.add"], drawn_from, "torch@1.1"),),
        judged=(JudgedCases("torch", "torch.function_0", "numpy", 2),),
    )
    contents = contents_of(of, ReportOptions())
    assert sorted(id for chapter in CHAPTERS for id in chapter.figure_ids) == sorted(figures_of(of))
    assert {id for chapter in CHAPTERS for id in chapter.table_ids} == {table.id for table in contents.tables}


def contrast(one: str, other: str) -> float:
    light, night = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (night + 0.05)


def luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else math.pow((part + 0.055) / 1.055, 2.4) for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _axes(figure: Figure) -> list[dict[str, Any]]:
    """The quantities that a chart's marks show along x and y."""
    encodings = [part["encoding"] for part in _walk(figure.bare) if isinstance(part, dict) and "encoding" in part]
    axes = [encoding[axis] for encoding in encodings for axis in ("x", "y") if axis in encoding]
    return [axis for axis in axes if axis["type"] == "quantitative"]


def _walk(spec: Any) -> Iterator[Any]:
    yield spec
    for member in spec.values() if isinstance(spec, dict) else spec if isinstance(spec, list) else ():
        yield from _walk(member)
