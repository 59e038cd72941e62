"""The comparison of two campaigns: which targets are compared with each other, and what is a regression."""

from __future__ import annotations

from typing import Literal

import pytest

from coordinator.errors import RequestError, UnknownNameError
from coordinator.figures.counting import ANYWHERE, ON_DEVICE, CountingRule, Counts
from coordinator.results.comparison.cases import case_change
from coordinator.results.comparison.models import (
    Comparison,
    ComparisonGate,
    Omission,
    Side,
    SideCase,
    SideVerdict,
    VerdictChange,
)
from coordinator.results.comparison.pairs import (
    CaseDigest,
    SideSelector,
    chosen_targets,
    match_targets,
    no_common_case,
    other_cases,
)
from coordinator.results.comparison.verdicts import compare_verdicts, comparison
from coordinator.results.models import Cell
from coordinator.targets.models import Target
from tests.unit.coordinator import cells
from tests.unit.coordinator.cells import counts


def column(number: int, device: str = "cpu", **fields: object) -> Target:
    values: dict[str, object] = {
        "id": number,
        "framework": "torch",
        "version": "2.9.0",
        "device": device,
        "hardware": "a CPU",
        "environment": "e",
        "suite": "paper",
        "suite_revision": "r1",
        "device_class": "cpu",
        "notes": (),
        "simulated": False,
        **fields,
    }
    return Target.model_validate(values)


def half(passes: int, total: int, flaky: int = 0) -> SideVerdict:
    verdict = "unknown" if not total else "success" if passes == total else "partial" if passes else "complete"
    return SideVerdict(verdict=verdict, passed=passes, total=total, flaky=flaky, cause=None)


def cell(function: str, passes: int, total: int, on_device: Counts | Literal["alike"] = "alike") -> Cell:
    return cells.cell(counts(half(passes, total).verdict, passes, total), on_device, function=function)


def case(verdict: str, causes: tuple[str, ...] = (), placements: tuple[str, ...] = ()) -> SideCase:
    if not causes and verdict in ("failed", "flaky"):
        causes = ("type",)
    if not placements and verdict in ("passed", "flaky"):
        placements = ("on_device",)
    return SideCase.model_validate(
        {"verdict": verdict, "causes": list(causes), "placements": list(placements), "runs": 3}
    )


PASSED, FAILED, FLAKY, SKIPPED, UNPROVEN, INCOMPLETE = map(
    case, ("passed", "failed", "flaky", "skipped", "unproven", "incomplete")
)


@pytest.mark.parametrize(
    ("a", "b", "kind"),
    [
        (PASSED, PASSED, "same"),
        (PASSED, FAILED, "worse"),
        (FAILED, PASSED, "better"),
        (FAILED, case("failed", causes=("memory",)), "cause"),
        (case("failed", causes=("memory", "type")), case("failed", causes=("type", "memory")), "same"),
        (case("failed", causes=("memory", "type")), FAILED, "insufficient data"),
        (PASSED, case("passed", placements=("fell_back",)), "placement"),
        (PASSED, case("passed", placements=("fell_back", "on_device")), "insufficient data"),
        (FAILED, case("failed", placements=("fell_back",)), "same"),
        (PASSED, FLAKY, "insufficient data"),
        (FLAKY, FAILED, "insufficient data"),
        (FLAKY, FLAKY, "same"),
        (FLAKY, case("flaky", causes=("memory",)), "cause"),
        (FAILED, SKIPPED, "insufficient data"),
        (PASSED, UNPROVEN, "insufficient data"),
        (UNPROVEN, SKIPPED, "not compared"),
    ],
)
def test_a_case_changed_only_if_its_runs_agree(a: SideCase, b: SideCase | None, kind: str) -> None:
    change = case_change("torch.cat/0", a, b)
    assert change.kind == kind
    assert (change.why is not None) == (kind in ("insufficient data", "not compared"))
    back = case_change("torch.cat/0", b, a).kind
    assert back == {"worse": "better", "better": "worse"}.get(kind, kind)


@pytest.mark.parametrize(("b", "why"), [(None, "no outcome on B"), (INCOMPLETE, "incomplete on B")])
@pytest.mark.parametrize("a", [PASSED, FAILED, FLAKY])
def test_a_case_that_counted_and_has_no_result_is_lost(a: SideCase, b: SideCase | None, why: str) -> None:
    change = case_change("torch.cat/0", a, b)
    assert (change.kind, change.why) == ("lost", why)
    assert case_change("torch.cat/0", b, a).kind == "insufficient data", "nothing was lost where nothing was"
    assert case_change("torch.cat/0", SKIPPED, b).kind == "not compared"


def test_a_case_of_another_digest_is_not_compared() -> None:
    assert case_change("torch.cat/0", PASSED, FAILED, comparable=False).kind == "not compared"


def change_between(a: dict[str, SideCase], b: dict[str, SideCase], rule: CountingRule = ANYWHERE) -> VerdictChange:
    before, after = (
        [cell("torch.cat", sum(one.verdict == "passed" for one in side.values()), len(side))] for side in (a, b)
    )
    (change,) = compare_verdicts(before, after, ({"torch.cat": a}, {"torch.cat": b}), rule)
    return change


def test_one_case_mended_and_one_broken_is_not_the_same() -> None:
    change = change_between({"float64": FAILED, "uint8": PASSED}, {"float64": PASSED, "uint8": FAILED})
    assert change.a == change.b
    assert (change.kind, change.counts.worse, change.counts.better) == ("mixed", 1, 1)
    assert change.moves == "1 worse (uint8), 1 better (float64)"
    summary = comparison([change])
    assert (summary.counts.mixed, summary.counts.same, summary.cases.worse, summary.changed) == (1, 0, 1, True)


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        ([PASSED, PASSED], [PASSED, FAILED], "regression"),
        ([PASSED, FAILED], [PASSED, PASSED], "fix"),
        ([PASSED, FAILED], [PASSED, case("failed", causes=("memory",))], "change"),
        ([PASSED, PASSED], [PASSED, case("passed", placements=("fell_back",))], "change"),
        ([PASSED, PASSED], [FAILED, FLAKY], "regression"),
        ([PASSED, PASSED], [PASSED, FLAKY], "insufficient data"),
        ([PASSED, SKIPPED], [PASSED, SKIPPED], "same"),
        ([SKIPPED, SKIPPED], [SKIPPED, SKIPPED], "insufficient data"),
        ([PASSED, PASSED], [PASSED, INCOMPLETE], "lost"),
        ([PASSED, PASSED], [FAILED, INCOMPLETE], "regression"),
    ],
)
def test_a_function_changed_if_one_of_its_cases_did(before: list[SideCase], after: list[SideCase], kind: str) -> None:
    a, b = ({str(number): one for number, one in enumerate(side)} for side in (before, after))
    change = change_between(a, b)
    assert change.kind == kind
    assert (change.why is not None) == (kind in ("insufficient data", "lost"))
    assert comparison([change]).changed == (kind in ("regression", "fix", "change"))


def test_a_target_of_a_without_a_counterpart_is_lost_too() -> None:
    side = Side(campaign=1, name="", suite="paper", state="done", timing="off", selector=None)
    for where, absent, fails in (("a", True, True), ("b", True, False), ("a", False, False), ("both", False, False)):
        omission = Omission.model_validate({"target": "torch@2.9.0/xla", "side": where, "why": "", "absent": absent})
        empty_comparison = Comparison(a=side, b=side, rule="anywhere", pairs=[], left_out=[omission])
        assert empty_comparison.fails(ComparisonGate.lost) == fails
        assert not empty_comparison.fails(ComparisonGate.regression)


def test_a_line_names_the_first_few_cases() -> None:
    change = change_between({str(n): PASSED for n in range(5)}, {str(n): FAILED for n in range(5)})
    assert change.moves == "5 worse (0, 1, 2, …)"
    assert [one.case for one in change.cases] == list("01234")


def test_reasons_are_counted_where_they_differ() -> None:
    whole = change_between({"0": PASSED, "1": PASSED}, {})
    assert whole.why == "no outcome on B"
    part = change_between({"0": PASSED, "1": PASSED, "2": PASSED}, {"0": FLAKY, "1": PASSED})
    assert part.why == "1 case: its runs disagree on B; 1 case: no outcome on B"


def test_the_line_of_a_function_has_the_verdict_that_counts() -> None:
    before = [cell("torch.cat", 2, 2)]
    after = [cell("torch.cat", 2, 2, counts("complete", 0, 2, "placement"))]
    fell_back = {"torch.cat": {"torch.cat/0": case("failed", causes=("placement",))}}
    (change,) = compare_verdicts(before, after, ({"torch.cat": {"torch.cat/0": PASSED}}, fell_back), ON_DEVICE)
    assert change.kind == "regression"
    assert change.b is not None
    assert (change.b.verdict, change.b.cause) == ("complete", "placement")
    change_counts = comparison([change]).counts
    assert (change_counts.regressions, change_counts.passes_on_a_fails_on_b, change_counts.same) == (1, 1, 0)


def test_the_same_framework_and_device_belong_together_whatever_the_version() -> None:
    pairs, left_out = match_targets(
        [column(1), column(2, "xla")], [column(3, version="2.13.0"), column(4, "cuda")], single_targets=False
    )
    assert [(one.id, other.id) for one, other in pairs] == [(1, 3)]
    assert {(omission.target, omission.side) for omission in left_out} == {
        ("torch@2.9.0/xla", "a"),
        ("torch@2.9.0/cuda", "b"),
    }


def test_of_several_the_nearest_belong_together() -> None:
    a = [column(1, hardware="T4"), column(2, hardware="L4")]
    b = [column(3, hardware="L4"), column(4, hardware="T4")]
    pairs, _ = match_targets(a, b, single_targets=False)
    assert sorted((one.id, other.id) for one, other in pairs) == [(1, 4), (2, 3)]


def test_other_suites_are_refused_although_they_are_of_the_same_revision() -> None:
    pairs, left_out = match_targets([column(1)], [column(2, suite="library")], single_targets=False)
    assert pairs == []
    assert [left.why for left in left_out] == [
        "their suites differ (paper and library), and only cells of one suite are compared: "
        "run both campaigns with the same suite"
    ]


def test_a_case_is_compared_over_two_revisions_where_its_digest_is_the_same() -> None:
    def side(**digests: str | None) -> dict[str, CaseDigest]:
        return {f"f/{name}": CaseDigest("f", digest, charted=True) for name, digest in digests.items()}

    a, b = side(same="d1", changed="d2", gone="d3", unknown=None), side(same="d1", changed="d4", new="d5", unknown=None)
    assert other_cases(a, b) == ["f/changed", "f/gone", "f/new", "f/unknown"]
    elsewhere = {"g/0": CaseDigest("g", "d6", charted=False)}
    assert other_cases(a | elsewhere, b) == ["f/changed", "f/gone", "f/new", "f/unknown"]
    assert other_cases(side(f="d1"), side(f="d2")) is None
    assert other_cases(side(f=None), side(f=None)) is None
    assert "revision r1 and r2" in no_common_case(column(1), column(2, suite_revision="r2")).why


def test_simulated_targets_and_other_frameworks_are_left_out() -> None:
    pairs, left_out = match_targets([column(1, simulated=True)], [column(2)], single_targets=False)
    assert not pairs
    assert {omission.why.partition(":")[0] for omission in left_out} >= {"simulated"}
    pairs, left_out = match_targets([column(1)], [column(2, framework="jax")], single_targets=True)
    assert not pairs
    assert "not the same functions" in left_out[0].why


def test_a_side_is_a_campaign_or_one_target_of_it() -> None:
    columns = [column(1), column(2, "xla")]
    assert SideSelector.parse("3", "a") == SideSelector(3)
    assert chosen_targets(SideSelector.parse("3:xla", "a"), columns) == [columns[1]]
    assert chosen_targets(SideSelector.parse("3:torch@2.9/cpu", "a"), columns) == [columns[0]]
    for text in ("", "x", "3:", "0", "-1", "99999999999999", "٣"):
        with pytest.raises(RequestError):
            SideSelector.parse(text, "a")
    with pytest.raises(UnknownNameError, match="matches 2 targets"):
        chosen_targets(SideSelector.parse("3:torch/*", "a"), columns)
