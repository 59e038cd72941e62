"""Tables of verdicts add up as the counting rule says, in both ways of counting, next to the study's figures."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from coordinator.figures.counting import Counts
from coordinator.reference import reader
from coordinator.reports import portability
from coordinator.reports.contents import contents_of
from coordinator.reports.options import ReportOptions
from coordinator.reports.table import Missing, Table
from coordinator.results import summary
from coordinator.results.report_data import FunctionVerdict
from coordinator.results.statistics import Rate
from tests.unit.coordinator.reports.charting import CPU, CUDA, XLA, report_data, target, verdict

STUDY = reader.read()
TPU = target(4, "tpu", "tpu", hardware="TPU v4")
# torch.cat and torch.sum are of the study's top 20, torch.saddmm of its second decile.
VERDICTS = [
    verdict(XLA, "torch.cat", "success"),
    verdict(XLA, "torch.sum", "partial", cause="type"),
    verdict(XLA, "torch.saddmm", "complete", cause="not_implemented"),
    verdict(XLA, "torch.nonzero", "success", "complete", cause_on_device="placement"),
    verdict(XLA, "torch.utils.data.Subset", "success", None),
    verdict(XLA, "torch.gone", "unknown"),
]


def rows(table: Table, **fields: str) -> list[dict[str, Any]]:
    return [record for record in table.records() if all(record[name] == value for name, value in fields.items())]


def row(table: Table, **fields: str) -> dict[str, Any]:
    (match,) = rows(table, **fields)
    return match


def test_a_fallback_passes_in_one_count_and_fails_in_the_other() -> None:
    table = portability.portability(report_data([XLA], VERDICTS))
    plain, strict = row(table, counted_by="verdict"), row(table, counted_by="verdict_on_device")
    assert (plain["success"], plain["partial"], plain["complete"]) == (Rate(3, 5), Rate(1, 5), Rate(1, 5))
    assert (strict["success"], strict["partial"], strict["complete"]) == (Rate(1, 4), Rate(1, 4), Rate(2, 4))


def test_work_of_the_host_is_left_out_in_a_line_of_its_own() -> None:
    data = report_data(
        [CPU, XLA],
        [
            verdict(CPU, "tf.abs", "success"),
            verdict(XLA, "tf.abs", "success"),
            verdict(XLA, "tf.constant", "partial", host_work=2, without_host_work="success"),
            verdict(XLA, "tf.data.range", "complete", host_work=3, without_host_work="unknown"),
        ],
    )
    table = portability.portability(data)
    assert [matching_row["counted_by"] for matching_row in rows(table, target="torch@2.9.0/cpu")] == [
        "verdict",
        "verdict_on_device",
    ]
    plain, without = (
        row(table, target="torch@2.9.0/xla", counted_by=way) for way in ("verdict", "verdict_without_host_work")
    )
    assert plain["success"] == Rate(1, 3)
    assert (without["success"], without["partial"], without["unknown"]) == (Rate(2, 2), Rate(0, 2), 1)


def test_a_function_of_another_device_is_in_no_rate_and_named() -> None:
    """An example is ``torch.cuda`` on a CPU. A function with a case that failed for another reason is rated."""
    verdicts = [
        verdict(CPU, "torch.cat", "success"),
        verdict(CPU, "torch.cuda", "complete", cause="not_implemented", of_another_device=1),
        verdict(CPU, "torch.sum", "complete", cause="type"),
    ]
    data = report_data([CPU], verdicts)
    for way in ("verdict", "verdict_on_device"):
        assert row(portability.portability(data), counted_by=way)["success"] == Rate(1, 2)
        assert row(portability.counts(data), counted_by=way)["total"] == 2
    sentences = " ".join(summary._of_target(data, CPU, [], 10.0))
    assert "1 of 2 functions pass every case" in sentences
    assert "1 function needs another device than this target and is excluded from the rates: torch.cuda." in sentences


def test_every_table_of_rates_has_the_line_without_work_of_the_host() -> None:
    """Both the study's top 20 and deciles and all functions have this line, if a target has such failures, and only
    then."""
    verdicts = [
        verdict(CPU, "torch.cat", "success"),
        verdict(XLA, "torch.cat", "partial", host_work=2, without_host_work="success"),
        verdict(XLA, "torch.saddmm", "partial", host_work=2, without_host_work="success"),
        verdict(XLA, "torch.sum", "complete"),
    ]
    data = report_data([CPU, XLA], verdicts, reference=STUDY)
    top = portability.top20(data, STUDY)
    (plain,), (apart,) = (
        rows(top, target="torch@2.9.0/xla", counted_by=way) for way in ("verdict", "verdict_without_host_work")
    )
    assert (plain["top20_failed"], plain["all_failed"]) == (Rate(2, 2), Rate(3, 3))
    assert (apart["top20_failed"], apart["all_failed"]) == (Rate(1, 2), Rate(1, 3))
    decile = {"target": "torch@2.9.0/xla", "decile": "decile20"}
    by_decile = portability.failures_by_decile(data, STUDY)
    assert row(by_decile, counted_by="verdict", **decile)["partial"] == Rate(1, 1)
    assert row(by_decile, counted_by="verdict_without_host_work", **decile)["partial"] == Rate(0, 1)
    tables = (portability.portability(data), portability.counts(data), portability.failures_in_top20(data, STUDY))
    for table in (*tables, top, by_decile):
        lines = rows(table, counted_by="verdict_without_host_work")
        assert {line["target"] for line in lines} == {"torch@2.9.0/xla"}, table.id


def test_a_function_without_a_counted_case_is_in_no_rate() -> None:
    table = portability.counts(report_data([XLA], VERDICTS))
    plain = row(table, counted_by="verdict")
    assert (plain["success"], plain["partial"], plain["complete"], plain["total"]) == (3, 1, 1, 5)
    assert plain["failed"] == Rate(2, 5)
    assert row(portability.portability(report_data([XLA], VERDICTS)), counted_by="verdict")["unknown"] == 1


def test_a_target_of_which_nothing_is_counted_has_no_rate_rather_than_0_percent() -> None:
    """The infrastructure failed, which is not the device's failure."""
    verdicts = [verdict(CUDA, "torch.cat", "unknown"), verdict(CUDA, "torch.sum", "unknown")]
    for data in (report_data([CUDA], verdicts), report_data([CUDA])):
        rate_row = row(portability.portability(data), counted_by="verdict")
        assert rate_row["success"] == rate_row["complete"] == Missing.none_counted
        assert row(portability.counts(data), counted_by="verdict")["failed"] == Missing.none_counted


def test_what_can_be_set_beside_each_other_stands_together() -> None:
    """Rows are sorted by framework and then by class of device."""
    table = portability.portability(report_data([CPU, CUDA, TPU], reference=STUDY))
    assert [(record["target"], record["counted_by"]) for record in table.records()] == [
        ("torch@2.9.0/cpu", "verdict"),
        ("torch@2.9.0/cpu", "verdict_on_device"),
        ("torch@2.9.0/cuda", "verdict"),
        ("torch@2.9.0/cuda", "verdict_on_device"),
        ("torch@1.12.0/gpu-t4", "verdict"),
        ("torch@1.12.0/gpu-a100", "verdict"),
        ("torch@2.9.0/tpu", "verdict"),
        ("torch@2.9.0/tpu", "verdict_on_device"),
        ("torch@1.12.0/tpu-v3-8", "verdict"),
    ]


def test_the_top_20_against_all() -> None:
    table = portability.top20(report_data([XLA], VERDICTS), STUDY)
    plain = row(table, source="campaign 1", counted_by="verdict")
    assert (plain["top20_failed"], plain["all_failed"]) == (Rate(1, 2), Rate(2, 5))
    strict = row(table, source="campaign 1", counted_by="verdict_on_device")
    assert (strict["top20_failed"], strict["all_failed"]) == (Rate(1, 2), Rate(3, 4))


def test_failures_in_the_top_20() -> None:
    table = portability.failures_in_top20(report_data([XLA], VERDICTS, reference=STUDY), STUDY)
    plain = row(table, source="campaign 1", counted_by="verdict")
    assert (plain["partial"], plain["complete"]) == (Rate(1, 2), Rate(0, 2))
    assert {record["partial"] for record in rows(table, source="paper-2023")} == {Missing.not_published}


def test_failures_by_decile() -> None:
    table = portability.failures_by_decile(report_data([XLA], VERDICTS), STUDY)
    failures = {record["decile"]: record["complete"] for record in rows(table, counted_by="verdict")}
    assert failures["decile20"] == Rate(1, 1)
    assert len(failures) == 10
    assert {rate for decile, rate in failures.items() if decile != "decile20"} <= {Missing.none_counted, Rate(0, 1)}


def test_functions_that_the_study_did_not_draw_are_named_as_being_in_no_stratum() -> None:
    table = portability.top20(report_data([XLA], VERDICTS), STUDY)
    assert any("2 other functions are in no decile" in note for note in table.notes)


def test_causes_are_shares_of_the_functions_that_failed() -> None:
    table = portability.causes(report_data([XLA], VERDICTS))
    shares = [(record["counted_by"], record["cause"], record["functions"]) for record in table.records()]
    assert shares == [
        ("verdict", "not_implemented", Rate(1, 2)),
        ("verdict", "type", Rate(1, 2)),
        ("verdict_on_device", "not_implemented", Rate(1, 3)),
        ("verdict_on_device", "placement", Rate(1, 3)),
        ("verdict_on_device", "type", Rate(1, 3)),
    ]


@pytest.mark.parametrize("where", range(17))
def test_xla_on_a_host_cpu_never_stands_beside_the_studys_tpu_without_the_sentence(where: int) -> None:
    both = contents_of(report_data([CPU, XLA], VERDICTS, reference=STUDY), ReportOptions()).tables
    assert len(both) == 17
    assert "torch@2.9.0/xla: XLA on the host CPU, not a TPU" in both[where].notes


def test_a_tpu_is_not_said_to_be_none() -> None:
    assert not target(5, "xla", "tpu").sentences
    assert not TPU.sentences


def test_the_study_beside_devices_of_other_classes_says_so() -> None:
    sentence = (
        "The reference charted no device class of this campaign, only gpu, tpu: its figures are for other classes."
    )
    assert sentence in portability.portability(report_data([CPU, XLA], reference=STUDY)).notes
    assert sentence not in portability.portability(report_data([CPU, CUDA], reference=STUDY)).notes


def test_a_simulated_target_says_so() -> None:
    table = portability.portability(report_data([target(6, "toy", "other", is_simulated=True)]))
    assert any("simulated" in note for note in table.notes)


def test_only_the_studys_figures_of_the_frameworks_at_hand_stand_beside() -> None:
    for table in contents_of(report_data([XLA], VERDICTS, reference=STUDY), ReportOptions()).tables:
        target_names = [str(record.get("target") or record.get("base")) for record in table.records()]
        assert not any(name.startswith(("jax", "tensorflow")) for name in target_names)


def test_without_a_reference_nothing_of_it_is_said() -> None:
    alone = contents_of(report_data([XLA], VERDICTS), ReportOptions()).tables
    assert {record["source"] for table in alone for record in table.records()} == {"campaign 1"}
    assert not any("study's" in note or "paper-2023" in note for table in alone for note in table.notes)


def test_two_targets_that_only_their_machines_tell_apart_have_names_of_their_own() -> None:
    t4, a100 = target(1, "cuda", "gpu"), target(2, "cuda", "gpu", hardware="NVIDIA A100")
    other = target(3, "cuda", "gpu", environment="def456")
    assert report_data([t4, a100]).labels == {
        1: "torch@2.9.0/cuda on NVIDIA T4",
        2: "torch@2.9.0/cuda on NVIDIA A100",
    }
    assert report_data([t4, other]).labels[3] == "torch@2.9.0/cuda on NVIDIA T4 in def456"
    assert report_data([t4]).labels[1] == "torch@2.9.0/cuda"


def test_every_table_of_verdicts_bears_its_rule_revision_and_query() -> None:
    for table in contents_of(report_data([XLA], VERDICTS, reference=STUDY), ReportOptions()).tables:
        assert table.revisions == ("suite paper of torch, revision r1",)
        assert table.query.startswith("SELECT ")
        assert table.counting_rule
        assert table.remade_from or table.id in ("placement", "first_calls", "classes")
    assert (
        "Counted on device (verdict_on_device)" in portability.portability(report_data([XLA], VERDICTS)).counting_rule
    )


def test_gradients_and_16_bit_types_have_columns_of_their_own_beside_the_other_cases() -> None:
    def of(name: str, **words: str) -> FunctionVerdict:
        plain = verdict(XLA, name, "success")
        return replace(plain, counts={**plain.counts, **{key: Counts(word, 0, 0, 0, 0) for key, word in words.items()}})

    rows_of_data = [of("torch.a", forward="success", gradients="partial"), of("torch.b", forward="success")]
    (only,) = portability.classes(report_data([XLA], rows_of_data)).records()
    assert (only["functions"], only["anywhere"]) == (2, Rate(2, 2))
    assert (only["forward"], only["gradients"], only["sixteen_bit"]) == (Rate(2, 2), Rate(0, 1), Missing.none_counted)
