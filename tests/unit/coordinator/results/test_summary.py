"""The summary of a campaign in sentences: every sentence states what was counted."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from coordinator.campaigns.models import CampaignDetail, Counters, TimeEstimate
from coordinator.figures.counting import INDEPENDENT, NOTHING_COUNTED, Counts
from coordinator.results.conditions import EndedCase, function_condition
from coordinator.results.judges import JudgedCases
from coordinator.results.ratios import comparisons
from coordinator.results.report_data import FunctionVerdict, ReportData
from coordinator.results.summary import named_with_condition, summary
from protocol.catalogue import CaseOptions
from protocol.enums import TimedCases, TimingPolicy
from tests.unit.coordinator.reports.charting import CPU, XLA, latencies_of, report_data, target, verdict


def campaign(*, state: Any = "done", total: int = 12, done_jobs: int | None = None, **counts: int) -> CampaignDetail:
    zero = {"passed": 0, "failed": 0, "skipped": 0, "incomplete": 0, "cancelled": 0}
    return CampaignDetail(
        id=1,
        name="in November",
        suite="paper",
        state=state,
        targets=["torch/cpu", "torch/xla"],
        functions=["*"],
        runs=3,
        timeout_s=900,
        timing=TimingPolicy.steady,
        timed_cases=TimedCases.all,
        verdicts_first=False,
        rerun_of=None,
        created_at=datetime(2026, 11, 21, tzinfo=UTC),
        finished_at=None,
        imported_at=None,
        created_by=None,
        counters=Counters(total=total, done=total if done_jobs is None else done_jobs, **(zero | counts)),
        estimate=TimeEstimate(seconds=None, measured_jobs=0),
        by_target=[],
    )


def summary_texts(of: ReportData, about: CampaignDetail | None = None, tolerable: float = 10) -> dict[str, str]:
    """The texts by heading. The first is the whole summary."""
    sections = summary(about or campaign(passed=12), of, comparisons(of), tolerable)
    return {section.heading: " ".join(section.sentences) for section in sections}


FLEET = report_data(
    [CPU, XLA],
    [
        *(verdict(CPU, name, "success") for name in ("torch.a", "torch.b", "torch.c", "torch.d")),
        verdict(XLA, "torch.a", "success"),
        verdict(XLA, "torch.b", "partial", cause="type"),
        verdict(XLA, "torch.c", "complete", cause="not_implemented", unknown_cause=1),
        verdict(XLA, "torch.d", "success", "complete", cause_on_device="placement"),
        verdict(XLA, "torch.e", "unknown", not_counted_cause="removed"),
    ],
    [*latencies_of(CPU, "torch.a", 1.0), *latencies_of(XLA, "torch.a", 25.0)],
)


def test_the_whole_says_how_many_functions_targets_jobs_and_runs() -> None:
    whole = summary_texts(FLEET)["in November"]
    assert (
        whole
        == "This campaign charted 5 functions of torch on 2 targets: 12 jobs, each case run 3 times on each target."
    )


def test_a_target_says_what_ports_what_does_not_and_why() -> None:
    xla = summary_texts(FLEET)["torch@2.9.0/xla"]
    assert "Hardware: a CPU." in xla
    assert "2 of 4 functions pass every case (50 %, interval 15 to 85 %), 1 fails some, 1 fails all." in xla
    assert "The main causes of failure are not_implemented (1) and type (1)." in xla
    assert "No rule explains 1 of 2 failed cases." in xla
    assert "1 function has no verdict: every case was skipped (removed (1)): torch.e." in xla


def test_functions_that_fail_in_part_or_fall_back_are_named_with_their_condition() -> None:
    half = [EndedCase("failed", CaseOptions(dtypes=["float16"]))] * 2
    whole = [EndedCase("passed", CaseOptions(dtypes=["float32"]))] * 3
    moved_cases = [EndedCase("fell_back", CaseOptions(dtypes=["complex64"]))] * 2
    of = replace(
        FLEET,
        conditions={
            (XLA.id, "torch.b"): function_condition([*half, *whole]),
            (XLA.id, "torch.d"): function_condition([*moved_cases, *whole]),
        },
    )
    xla = summary_texts(of)["torch@2.9.0/xla"]
    assert "Functions that fail some cases: torch.b (2 of 5; in float16)." in xla
    assert "host: torch.d (2 of 5; in complex64)." in xla
    assert named_with_condition(FLEET) == [("torch", "torch.b"), ("torch", "torch.d")]


def test_functions_that_fail_altogether_are_ranked_by_how_many_cases_say_so() -> None:
    of = report_data(
        [XLA],
        [
            verdict(XLA, "torch.by_one", "complete", cause="type"),
            verdict(XLA, "torch.by_two", "complete", cause="type", total=2),
            verdict(XLA, "torch.by_twenty", "complete", cause="type", total=20),
        ],
    )
    xla_text = summary_texts(of)["torch@2.9.0/xla"]
    assert (
        "Functions that fail all cases: torch.by_twenty (0 of 20 cases), torch.by_two (0 of 2 cases) and "
        "torch.by_one (0 of 1 case). 1 of these has only one case." in xla_text
    )


def test_work_of_the_host_has_a_line_of_its_own_with_the_rate_without_it() -> None:
    fleet = report_data(
        [XLA],
        [
            verdict(XLA, "tf.abs", "success"),
            verdict(XLA, "tf.constant", "partial", cause="host_work", host_work=2, without_host_work="success"),
            verdict(XLA, "tf.data.range", "complete", cause="host_work", host_work=3, without_host_work="unknown"),
            verdict(XLA, "tf.sort", "partial", cause="host_work", host_work=1, without_host_work="partial"),
        ],
    )
    xla = summary_texts(fleet)["torch@2.9.0/xla"]
    assert "1 of 4 functions pass every case (25 %" in xla
    assert (
        "Without the 6 failed cases that are host work (data sets, strings, tables, files, prints), 2 of 3 functions "
        "pass every case (67 %)." in xla
    )
    assert "host work" not in summary_texts(FLEET)["torch@2.9.0/xla"]


def test_a_target_says_what_fell_back() -> None:
    assert (
        "On the device: 1 of 4. 1 function passed a case only because the framework silently ran it on the host: "
        "torch.d." in summary_texts(FLEET)["torch@2.9.0/xla"]
    )
    assert "No passing case is known to have fallen back to the host." in summary_texts(FLEET)["torch@2.9.0/cpu"]


def test_a_target_says_what_is_intolerably_slow_and_against_what() -> None:
    xla = summary_texts(FLEET)["torch@2.9.0/xla"]
    assert "takes 25 times as long as on torch@2.9.0/cpu (geometric mean over 1 function; 0 are faster)." in xla
    assert "1 of 1 is intolerably slow (more than 10 times as long): torch.a (25 times)." in xla
    assert "No function takes more than 30 times as long." in summary_texts(FLEET, tolerable=30)["torch@2.9.0/xla"]


def test_functions_without_a_latency_are_said_to_be_in_no_ratio() -> None:
    xla = summary_texts(FLEET)["torch@2.9.0/xla"]
    assert (
        "1 function that fell back or has unknown placement has no latency here: torch.d. The slowest "
        "functions may be among them." in xla
    )


def test_xla_on_a_host_cpu_is_no_tpu() -> None:
    assert "XLA on the host CPU, not a TPU." in summary_texts(FLEET)["torch@2.9.0/xla"]


def test_a_simulated_target_is_said_to_be_one() -> None:
    toy = target(9, "toy", "other", is_simulated=True)
    toy_text = summary_texts(report_data([CPU, toy], [verdict(toy, "torch.a", "success")]))["torch@2.9.0/toy"]
    assert "Simulated: its results are not compared." in toy_text
    assert "times as long" not in toy_text


def test_an_empty_campaign() -> None:
    texts = summary_texts(report_data([CPU, XLA]), campaign(state="running", done_jobs=0))
    assert "The campaign is still running: 0 of 12 jobs are done. Figures will change." in texts["in November"]
    assert "No job has an outcome yet" in texts["in November"]
    assert "portability is unknown" in texts["torch@2.9.0/cpu"]


def test_a_campaign_in_which_everything_failed_suspects_the_installation() -> None:
    of = report_data([CPU], [verdict(CPU, "torch.a", "complete", cause="crash")])
    whole = summary_texts(of, campaign(failed=10, incomplete=2))["in November"]
    assert "No job passed: 10 failed and 2 incomplete. When everything fails, check the installation" in whole
    assert "The campaign has only one target" in whole


def test_a_cancelled_campaign_says_what_never_ran() -> None:
    of = report_data([CPU], [verdict(CPU, "torch.a", "unknown", not_counted_cause="cancelled", incomplete=3)])
    whole = summary_texts(of, campaign(state="cancelled", passed=4, cancelled=8))["in November"]
    assert whole.startswith(
        "The campaign was cancelled: 8 jobs never ran. A function that misses a case because of this is excluded from "
        "the rates below. Results are missing: 3 cases of 1 of 1 function ended without a result, because the campaign "
        "was cancelled, or because a package or a runner was missing."
    )


def test_a_campaign_that_misses_cases_says_so_first_and_bounds_its_rate() -> None:
    lost_counts = {"not_counted_cause": "infrastructure", "incomplete": 3}
    of = report_data(
        [CPU],
        [
            verdict(CPU, "torch.a", "success"),
            verdict(CPU, "torch.b", "partial", cause="type", incomplete=1),
            verdict(CPU, "torch.c", "unknown", **lost_counts),
            verdict(CPU, "torch.d", "unknown", **lost_counts),
            verdict(CPU, "torch.e", "unknown", not_counted_cause="removed"),
        ],
    )
    texts = summary_texts(of, campaign(passed=3, failed=1, incomplete=7, skipped=1))
    assert texts["in November"].startswith(
        "Results are missing: 7 cases of 3 of 5 functions ended without a result, because a package or a runner was "
        "missing. They say nothing about a device. 2 of the functions have no verdict because of them."
    )
    cpu = texts["torch@2.9.0/cpu"]
    assert (
        "1 of 2 functions pass every case (50 %, interval 9 to 91 %), 1 fails some. 2 more lack results of some cases, "
        "so the rate over all 4 is between 25 and 75 %." in cpu
    )
    assert "2 functions have no verdict: a case is incomplete, and no case that ran failed (infrastructure (2))" in cpu
    assert "1 function has no verdict: every case was skipped (removed (1)): torch.e." in cpu


def test_a_target_whose_functions_all_miss_cases_has_no_rate() -> None:
    of = report_data([CPU], [verdict(CPU, "torch.a", "unknown", not_counted_cause="infrastructure", incomplete=1)])
    cpu = summary_texts(of, campaign(passed=3, incomplete=9))["torch@2.9.0/cpu"]
    assert "No function has a verdict here" in cpu
    assert "pass every case" not in cpu


def test_many_names_are_cut_short() -> None:
    names = [f"torch.f{n}" for n in range(9)]
    of = report_data([XLA], [verdict(XLA, name, "success", "complete", cause_on_device="placement") for name in names])
    assert "torch.f0, torch.f1, torch.f2, torch.f3, torch.f4 and 4 more." in summary_texts(of)["torch@2.9.0/xla"]


def test_how_many_functions_the_same_framework_judged_alone_is_said_beside_the_rate() -> None:
    by_reference = Counts("success", 1, 0, 1, 0)
    verdicts = [
        replace(one, counts={**one.counts, INDEPENDENT.name: by_reference if name == "torch.a" else NOTHING_COUNTED})
        for name in ("torch.a", "torch.b", "torch.c")
        for one in [verdict(XLA, name, "success")]
    ]
    judged_cases = tuple(
        JudgedCases("torch", one.function, "numpy" if one.function == "torch.a" else "itself", 1) for one in verdicts
    )
    xla = summary_texts(replace(report_data([XLA], verdicts), judged=judged_cases))["torch@2.9.0/xla"]
    assert (
        "For 2 of these, the same framework on the CPU is the only reference. Of the 1 with an independent reference, "
        "1 passes every case that it judges."
    ) in xla


def test_where_no_suite_says_who_judged_nothing_is_said_of_it() -> None:
    one = verdict(XLA, "torch.cat", "success")
    verdicts = [replace(one, counts={**one.counts, INDEPENDENT.name: NOTHING_COUNTED})]
    judged_cases = (JudgedCases("torch", "torch.cat", None, 3),)
    xla = summary_texts(replace(report_data([XLA], verdicts), judged=judged_cases))["torch@2.9.0/xla"]
    assert "is the only reference" not in xla


def test_what_is_silently_accepted_is_counted_apart_and_named() -> None:
    rows = [verdict(XLA, "torch.gather", "success", accepted=2), verdict(XLA, "torch.take", "unknown", accepted=1)]
    xla = summary_texts(report_data([XLA], rows))["torch@2.9.0/xla"]
    assert "1 of 1 function passes every case" in xla
    assert (
        "Silently accepted: in 3 cases of 2 functions the call returns a result where the host raises an error. They "
        "count neither as passed nor as failed: torch.gather (2) and torch.take (1)." in xla
    )


def test_gradients_and_16_bit_types_have_rates_of_their_own_beside_the_other_cases() -> None:
    def row(name: str, **words: str) -> FunctionVerdict:
        plain = verdict(XLA, name, "success")
        by_class = {rule: Counts(word, 0, 0, 0, 0) for rule, word in words.items()}
        return replace(plain, counts={**plain.counts, **by_class})

    rows = [
        row("torch.a", forward="success", gradients="partial", sixteen_bit="unknown"),
        row("torch.b", forward="success", gradients="success", sixteen_bit="complete"),
        row("torch.c", forward="unknown", gradients="complete", sixteen_bit="unknown"),
    ]
    xla = summary_texts(report_data([XLA], rows))["torch@2.9.0/xla"]
    assert (
        "On the device by class of case: 2 of 2 functions pass every forward case, 1 of 3 in gradients and 0 of 1 in "
        "16-bit types." in xla
    )
    assert (
        "by class of case"
        not in summary_texts(report_data([XLA], [row("torch.a", forward="success")]))["torch@2.9.0/xla"]
    )


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (0, "100 % by construction: all 900 drawn cases are in the suite because the CPU was right."),
        (12, "By construction: 888 of 900 drawn cases are in the suite because the CPU was right."),
    ],
)
def test_a_rate_of_the_host_by_a_suite_that_it_admitted_is_said_to_be_so_by_construction(
    wrong: int, words: str
) -> None:
    target = CPU.model_copy(update={"drawn_cases": 900, "wrong_on_host": wrong})
    data = report_data([target], [verdict(CPU, "torch.a", "success")])
    assert words in summary_texts(data)["torch@2.9.0/cpu"]
