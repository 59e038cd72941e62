"""Two campaigns against each other: which targets belong together, and what is a regression."""

from __future__ import annotations

import pytest

from coordinator.errors import RequestError, UnknownNameError
from coordinator.results.comparison.models import SideVerdict
from coordinator.results.comparison.pairs import (
    SideSelector,
    changed_functions,
    chosen_targets,
    match_targets,
    no_common_case,
)
from coordinator.results.comparison.verdicts import compare_verdicts, counts, verdict_change
from coordinator.results.models import Cell
from coordinator.targets.models import Target


def column(number: int, device: str = "cpu", **given: object) -> Target:
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
        **given,
    }
    return Target.model_validate(values)


def half(passed: int, total: int, flaky: int = 0) -> SideVerdict:
    verdict = "unknown" if not total else "success" if passed == total else "partial" if passed else "complete"
    return SideVerdict(verdict=verdict, passed=passed, total=total, flaky=flaky, cause=None)


def cell(function: str, passed: int, total: int, **given: object) -> Cell:
    values: dict[str, object] = dict.fromkeys(Cell.model_fields)
    values |= dict.fromkeys(
        ("campaign_id", "target_id", "skipped", "incomplete", "flaky", "fell_back", "unknown_cause"), 0
    )
    values |= {
        "framework": "torch",
        "module": "torch",
        "function": function,
        "host_only": False,
        "verdict": half(passed, total).verdict,
        "verdict_on_device": half(passed, total).verdict,
        "passed": passed,
        "passed_on_device": passed,
        "total_on_device": total,
        "failed": total - passed,
        "total": total,
    }
    return Cell.model_validate({**values, **given})


@pytest.mark.parametrize(
    ("a", "b", "kind"),
    [
        (half(5, 5), half(5, 5), "same"),
        (half(5, 5), half(0, 5), "regression"),
        (half(0, 5), half(5, 5), "fix"),
        (half(3, 5), half(2, 5), "regression"),
        (half(5, 5), half(4, 4), "same"),
        # The one case that failed was not counted on B: that mends nothing.
        (half(4, 5), half(4, 4), "insufficient data"),
        (half(5, 5), half(3, 4), "regression"),
        # Runs of the one case that changed disagree.
        (half(5, 5), half(4, 5, flaky=1), "insufficient data"),
        (half(5, 5), half(3, 5, flaky=1), "regression"),
        (half(4, 5, flaky=1), half(5, 5), "insufficient data"),
        (half(5, 5), half(0, 0), "insufficient data"),
        (half(5, 5), None, "insufficient data"),
    ],
)
def test_a_change_counts_only_if_no_uncertain_case_could_undo_it(
    a: SideVerdict, b: SideVerdict | None, kind: str
) -> None:
    found = verdict_change("torch.cat", a, b)
    assert found.kind == kind
    assert (found.why is not None) == (kind == "insufficient data")


def test_what_is_a_regression_one_way_is_a_fix_the_other_way() -> None:
    halves = [half(passed, total, flaky) for total in range(4) for passed in range(total + 1) for flaky in range(2)]
    other = {"regression": "fix", "fix": "regression"}
    for a in halves:
        for b in halves:
            there, back = verdict_change("f", a, b).kind, verdict_change("f", b, a).kind
            assert back == other.get(there, there)


def test_counted_by_device_a_new_fallback_is_a_regression_and_host_functions_stay_out() -> None:
    before = [cell("torch.cat", 2, 2), cell("torch.seed", 1, 1, verdict_on_device=None)]
    after = [
        cell("torch.cat", 2, 2, passed_on_device=0, verdict_on_device="complete", cause_on_device="placement"),
        cell("torch.seed", 1, 1, verdict_on_device=None),
    ]
    assert counts(compare_verdicts(before, after, "anywhere")).same == 2
    (only,) = compare_verdicts(before, after, "on_device")
    assert (only.function, only.kind) == ("torch.cat", "regression")
    assert only.b is not None
    assert only.b.cause == "placement"
    told = counts([only])
    assert (told.regressions, told.passes_on_a_fails_on_b, told.same) == (1, 1, 0)


def test_the_same_framework_and_device_belong_together_whatever_the_version() -> None:
    pairs, left_out = match_targets(
        [column(1), column(2, "xla")], [column(3, version="2.13.0"), column(4, "cuda")], named=False
    )
    assert [(one.id, other.id) for one, other in pairs] == [(1, 3)]
    assert {(each.target, each.side) for each in left_out} == {
        ("torch@2.9.0/xla", "a"),
        ("torch@2.9.0/cuda", "b"),
    }


def test_of_several_the_nearest_belong_together() -> None:
    a = [column(1, hardware="T4"), column(2, hardware="L4")]
    b = [column(3, hardware="L4"), column(4, hardware="T4")]
    pairs, _ = match_targets(a, b, named=False)
    assert sorted((one.id, other.id) for one, other in pairs) == [(1, 4), (2, 3)]


def test_other_suites_are_refused_although_they_are_of_the_same_revision() -> None:
    pairs, left_out = match_targets([column(1)], [column(2, suite="library")], named=False)
    assert pairs == []
    assert [left.why for left in left_out] == [
        "their suites differ (paper and library): only cells of one suite are compared; run both on the same"
    ]


def test_a_function_is_compared_over_two_revisions_where_its_cases_are_the_same() -> None:
    a = {"same": "d1", "changed": "d2", "gone": "d3", "unknown": None}
    b = {"same": "d1", "changed": "d4", "new": "d5", "unknown": None}
    assert changed_functions(a, b) == ["changed", "gone", "new", "unknown"]
    assert changed_functions({"f": "d1"}, {"f": "d2"}) is None
    assert changed_functions({"f": None}, {"f": None}) is None
    assert "revision r1 and r2" in no_common_case(column(1), column(2, suite_revision="r2")).why


def test_simulated_targets_and_other_frameworks_are_left_out() -> None:
    pairs, left_out = match_targets([column(1, simulated=True)], [column(2)], named=False)
    assert not pairs
    assert {each.why.partition(":")[0] for each in left_out} >= {"simulated"}
    pairs, left_out = match_targets([column(1)], [column(2, framework="jax")], named=True)
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
    with pytest.raises(UnknownNameError, match="names 2 targets"):
        chosen_targets(SideSelector.parse("3:torch/*", "a"), columns)
