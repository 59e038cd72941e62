"""Evidence: choosing among targets, merging campaigns, and writing and reading files."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from dataclasses import replace
from datetime import timedelta

import pytest

from coordinator.assess import evidence_file
from coordinator.assess.evidence import EvidenceSet, TargetEvidence, choose, second_shape_of
from coordinator.assess.merging import (
    CaseIndex,
    Charted,
    TargetMerger,
    complete,
    extend,
    merge_charts,
    with_other_suites,
)
from coordinator.assess.runs import CaseTimes, Run, RunCase, case_evidence
from coordinator.errors import AssessmentError
from coordinator.figures.second_shape import SecondShape
from coordinator.results.involvement import Met
from coordinator.targets.selectors import Selector
from protocol.enums import GRADIENT, RECOMPILED, REFUSES, WITH_RECORDED_VALUES, Cause, Ending, Judge, Placement, Verdict
from tests.unit.coordinator.assess.cases import (
    CHARTED_AT,
    FUNCTION,
    assessment_of,
    case,
    report,
    several,
    site,
    target,
)

PASSED = Run(Verdict.passed, Placement.on_device)
FELL_BACK = Run(Verdict.passed, Placement.fell_back)
FAILED = Run(Verdict.failed, Placement.unknown, Cause.type, Ending.raised, "no\n  kernel", ("aten::isin",))


def choose_target(selector: str, *targets: TargetEvidence, installed_version: str | None = None) -> TargetEvidence:
    return choose(EvidenceSet(targets, "ships with Portolan"), Selector.parse(selector), installed_version).chosen


OLD, NEW = target({}, "2.9.0"), target({}, "2.13.0")


def test_of_several_versions_the_newest_is_taken_by_its_numbers() -> None:
    assert choose_target("torch/xla", NEW, OLD).version == "2.13.0"


def test_the_version_that_is_installed_goes_before_a_newer_one() -> None:
    assert choose_target("torch/xla", NEW, OLD, installed_version="2.9.0").version == "2.9.0"


def test_a_version_that_was_asked_for_is_taken() -> None:
    assert choose_target("torch@2.9/xla", NEW, OLD, installed_version="2.13.0").version == "2.9.0"


def test_of_two_machines_the_one_charted_last_is_taken_and_the_other_named() -> None:
    later = replace(OLD, hardware="TPU v5e", charts=(replace(OLD.charts[0], at=CHARTED_AT + timedelta(days=1)),))
    choice = choose(EvidenceSet((OLD, later), "ships with Portolan"), Selector.parse("torch/xla"), None)
    assert (choice.chosen, choice.others) == (later, (OLD,))


@pytest.mark.parametrize("selector", ["torch/xlaa", "tourch/xla", "torch@1.0/xla", "jax/tpu", "jax/xla"])
def test_a_target_that_nobody_charted_is_said_in_one_line(selector: str) -> None:
    with pytest.raises(AssessmentError) as excinfo:
        choose_target(selector, OLD)
    message = str(excinfo.value)
    assert message.startswith(f"nobody charted {selector}; the evidence (")
    assert "torch@2.9.0/xla" in message
    assert "\n" not in message
    assert ("did you mean torch/xla?" in message) == ("jax" not in selector)


def test_the_host_is_no_target_and_a_selector_means_one_framework() -> None:
    with pytest.raises(AssessmentError, match=r"^torch/cpu is the host, to which other targets are compared"):
        choose_target("torch/cpu", OLD)
    with pytest.raises(AssessmentError, match=r"\*/xla matches targets of jax and torch: name one framework, such as"):
        choose_target("*/xla", OLD, replace(OLD, framework="jax"))
    assert choose_target("*/xla", OLD) is OLD


def chart_cases(name: str, revision: str, days: int, *cases: object, digest: str | None = "d") -> Charted:
    """A campaign with some cases of one function. ``cases`` are names, or endings by name."""
    evidence_rows = [case(text.partition("=")[0], text.partition("=")[2] or "passed") for text in map(str, cases)]  # type: ignore[arg-type]
    of_target = target({FUNCTION: evidence_rows})
    chart = replace(of_target.charts[0], suite=name, revision=revision, at=CHARTED_AT + timedelta(days=days))
    return Charted(replace(of_target, charts=(chart,)), {one.case: digest for one in evidence_rows})


def ends(*charts: Charted) -> dict[str, str]:
    (of_target,) = merge_charts(charts)
    return {one.case.rpartition("/")[2]: one.end for one in of_target.functions[FUNCTION]}


def test_the_newest_outcome_of_a_case_counts() -> None:
    first, second = chart_cases("library", "r", 0, "a=failed", "b=failed"), chart_cases("library", "r", 1, "a")
    assert ends(first, second) == ends(second, first) == {"a": "passed", "b": "failed"}


def test_a_case_that_a_newer_revision_has_changed_or_dropped_does_not_count() -> None:
    first = chart_cases("library", "r1", 0, "a=failed", "b=failed", digest="old")
    assert ends(first, chart_cases("library", "r2", 1, "a", digest="new")) == {"a": "passed"}
    newer = chart_cases("library", "r2", 1, "a", digest="new")
    same = Charted(newer.target, {**newer.digests, f"{FUNCTION}/b": "old"})
    assert ends(first, same) == {"a": "passed", "b": "failed"}


def test_suites_stand_beside_each_other() -> None:
    assert ends(chart_cases("library", "r1", 0, "a=failed"), chart_cases("paper", "p1", 1, "b")) == {
        "a": "failed",
        "b": "passed",
    }


def test_earlier_evidence_is_kept_about_suites_and_targets_without_a_newer_one() -> None:
    charts = [chart_cases("paper", "p1", 0, "p"), chart_cases("library", "r1", 1, "a=failed", "b=failed")]
    earlier = merge_charts([*charts, chart_cases("paper", "p1", 2, "p=failed")])
    other = replace(earlier[0], device="other")
    (newer,) = merge_charts([chart_cases("library", "r2", 3, "a", digest="new")])
    of_other, of_target = with_other_suites([newer], [*earlier, other])
    assert of_other == other
    assert {one.case.rpartition("/")[2]: one.end for one in of_target.functions[FUNCTION]} == {
        "a": "passed",
        "p": "failed",
    }
    (of_paper,) = [one for one in of_target.functions[FUNCTION] if one.case.endswith("/p")]
    days = [(of_target.charts[number].at - CHARTED_AT).days for number in (of_paper.chart, *of_paper.disagreeing)]
    assert days == [2, 0]
    assert [chart.suite for chart in of_target.charts] == ["library", "paper", "paper"]


def test_each_case_names_its_chart() -> None:
    (of_target,) = merge_charts([chart_cases("library", "r", 0, "a", "b"), chart_cases("library", "r", 1, "a")])
    days = {one.case[-1]: (of_target.charts[one.chart].at - CHARTED_AT).days for one in of_target.functions[FUNCTION]}
    assert days == {"a": 1, "b": 0}


def test_an_older_outcome_of_a_call_that_is_refused_now_does_not_count() -> None:
    older = chart_cases("library", "r", 0, "a=accepted", "b")
    newer = chart_cases("library", "r", 1, "b")
    assert ends(older, newer) == {"a": "accepted", "b": "passed"}
    assert ends(older, replace(newer, met_refusals=frozenset({f"{FUNCTION}/a"}))) == {"b": "passed"}


@pytest.mark.parametrize(
    ("revision", "names", "digest", "lacks"),
    [
        ("r2", "a", "d", False),
        ("r2", "ab", "d", True),
        ("r1", "a", "d", False),
        ("r1", "a", "older", False),
        ("r1", "ab", "older", False),
    ],
)
def test_a_chart_is_read_only_for_a_case_that_is_no_older_and_no_other_one(
    revision: str, names: str, digest: str, lacks: bool
) -> None:
    newer = chart_cases("library", "r2", 1, "a")
    merger = TargetMerger()
    merger.add(Charted(newer.target, {**newer.digests, f"{FUNCTION}/b": "d"}))
    cases = [f"{FUNCTION}/{name}" for name in names]
    of_suite = CaseIndex(dict.fromkeys(cases, FUNCTION), dict.fromkeys(cases, digest))
    assert merger.lacks("library", revision, of_suite) is lacks
    assert merger.lacks("paper", revision, of_suite)
    assert merger.lacks("library", revision, replace(of_suite, functions=dict.fromkeys(cases, "torch.other")))


def evidence_of(*runs: Run, tags: frozenset[str] = frozenset(), host_only: bool = False) -> object:
    return case_evidence(RunCase("c", tags, None, host_only), runs, 0)


@pytest.mark.parametrize(
    ("runs", "end"),
    [
        ([PASSED, PASSED], "passed"),
        ([PASSED, FAILED], "failed"),
        ([PASSED, FELL_BACK], "fell_back"),
        ([PASSED, Run(Verdict.passed, Placement.unknown)], "unproven"),
        ([Run(Verdict.skipped, Placement.unknown, Cause.lowered)], "unproven"),
        ([Run(Verdict.skipped, Placement.unknown, Cause.not_lowered, Ending.not_lowered, "no rule")], "failed"),
        ([Run(Verdict.incomplete, Placement.unknown), PASSED], "passed"),
    ],
)
def test_the_end_of_a_case_over_its_runs(runs: list[Run], end: str) -> None:
    assert evidence_of(*runs).end == end  # type: ignore[attr-defined]


def test_what_did_not_run_and_a_refusal_that_was_met_are_no_evidence() -> None:
    assert evidence_of(Run(Verdict.incomplete, Placement.unknown)) is None
    assert evidence_of(PASSED, tags=frozenset({REFUSES})) is None
    assert evidence_of(FAILED, tags=frozenset({REFUSES})) is not None


def test_a_recorded_call_that_raises_with_its_own_values_fails_even_if_the_cpu_raises_too() -> None:
    raising_run = Run(Verdict.skipped, Placement.unknown, Cause.not_this_device, Ending.raised, "no Int")
    own_values = frozenset({WITH_RECORDED_VALUES})
    evidence = case_evidence(RunCase("c", own_values, None, False), [raising_run], 0)
    assert evidence is not None
    assert (evidence.end, evidence.said) == ("failed", "no Int")
    assert evidence_of(raising_run) is None
    assert evidence_of(raising_run, tags=own_values | {GRADIENT}) is None
    assert evidence_of(replace(raising_run, ending=Ending.mismatched), tags=own_values) is None


def test_equal_options_and_tags_of_a_file_take_memory_once() -> None:
    cases = [case("a", "passed", "plain"), case("b", "failed", "plain"), case("c", "passed", positional=2)]
    content = evidence_file.compress((target({FUNCTION: cases}),), CHARTED_AT)
    (read,) = evidence_file.read(content, "evidence.json.gz", "from a file").targets
    one, equal, other = read.functions[FUNCTION]
    assert one.options is equal.options
    assert one.tags is equal.tags
    assert other.options != one.options


def test_after_the_evidence_that_ships_was_read_only_its_cases_take_memory() -> None:
    program = (
        "import psutil; from coordinator.assess import evidence_file; "
        "before = psutil.Process().memory_info().rss; evidence = evidence_file.load_shipped(); "
        "print(psutil.Process().memory_info().rss - before, "
        "sum(len(cases) for target in evidence.targets for cases in target.functions.values()))"
    )
    answer = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, check=True).stdout
    memory_bytes, cases = map(int, answer.split())
    # The objects of a case that no other case shares take 400 bytes. The JSON parser takes 2,000 bytes for a case.
    assert memory_bytes < 1_000 * cases


def test_a_failure_says_why_in_one_line_and_by_whom_it_was_judged() -> None:
    evidence = case_evidence(RunCase("c", frozenset({"judged-by-numpy", "plain"}), None, False), [PASSED, FAILED], 0)
    assert evidence is not None
    assert (evidence.cause, evidence.ending, evidence.said) == (Cause.type, Ending.raised, "no kernel")
    assert (evidence.judged_by, evidence.tags) == (Judge.numpy, {"plain"})


def test_a_case_names_the_operation_of_its_failure_and_a_fallback_those_that_the_host_ran() -> None:
    assert evidence_of(PASSED, FAILED).operations == ("aten::isin",)  # type: ignore[attr-defined]
    assert evidence_of(PASSED).operations == ()  # type: ignore[attr-defined]
    fallbacks = [replace(FELL_BACK, operations=names) for names in (("aten::b", "aten::a"), ("aten::c",))]
    assert evidence_of(PASSED, *fallbacks).operations == ("aten::a", "aten::b", "aten::c")  # type: ignore[attr-defined]
    assert evidence_of(FAILED, *fallbacks).operations == ("aten::isin",)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("run", "met"),
    [
        (FAILED, Met.failed),
        (replace(FAILED, ending=Ending.mismatched), Met.diverged),
        (replace(FAILED, cause=Cause.silently_accepted, ending=Ending.accepted), Met.diverged),
        (Run(Verdict.skipped, Placement.unknown, Cause.not_lowered, Ending.not_lowered), Met.not_lowered),
        (FELL_BACK, Met.fell_back),
        (PASSED, None),
    ],
)
def test_a_case_meets_an_operation_as_in_the_pages_of_a_campaign(run: Run, met: Met | None) -> None:
    assert evidence_of(run).met is met  # type: ignore[attr-defined]


def test_a_second_shape_stands_beside_the_first_calls_of_its_chart() -> None:
    times = CaseTimes(cold_ms=42.0, first_cold_ms=5.0)
    evidence = case_evidence(RunCase("c", frozenset({RECOMPILED}), None, False), [PASSED], 0, times)
    assert evidence is not None
    assert evidence.first_call_ms == 42.0
    plain = case_evidence(RunCase("c", frozenset(), None, False), [PASSED], 0, times)
    assert plain is not None
    assert plain.first_call_ms == 5.0
    of_another_chart = replace(plain, chart=1, first_call_ms=900.0)
    assert second_shape_of([plain, of_another_chart, evidence]) == SecondShape(42.0, 5.0)
    assert second_shape_of([of_another_chart, evidence]) == SecondShape(42.0, None)
    assert second_shape_of([plain, replace(evidence, first_call_ms=None)]) is None


def test_a_file_without_operations_is_read_and_one_with_them_keeps_them() -> None:
    cases = [replace(case("a", "fell_back"), operations=("aten::isin",)), case("b", "fell_back")]
    content = evidence_file.document_of((target({FUNCTION: cases}),), CHARTED_AT)
    (read,) = evidence_file.read(content, "it.json", "from it").targets
    assert [one.operations for one in read.functions[FUNCTION]] == [("aten::isin",), ()]
    older = content.replace(b',"operations":["aten::isin"]', b"")
    assert b"operations" not in older
    (read,) = evidence_file.read(older, "older.json", "from it").targets
    assert [one.operations for one in read.functions[FUNCTION]] == [(), ()]


def test_a_file_is_read_as_it_was_written_and_is_the_same_each_time() -> None:
    targets = (target({FUNCTION: several(3, "usual", "failed", "b", "a", keywords={"mode": "x"})}),)
    content = evidence_file.compress(targets, CHARTED_AT)
    read = evidence_file.read(content, "evidence.json.gz", "from a file")
    assert (read.targets, read.made_at, read.origin) == (targets, CHARTED_AT, "from a file")
    assert evidence_file.compress(read.targets, CHARTED_AT) == content
    assert evidence_file.read(gzip.decompress(content), "plain", "from a file").targets == targets


def document_with(**members: object) -> bytes:
    document = json.loads(evidence_file.document_of((target({FUNCTION: several(1, "usual")}),), CHARTED_AT))
    return json.dumps({**document, **members}).encode()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is not an evidence file of Portolan"),
        (b"\x1f\x8b\x08", "is not an evidence file of Portolan"),
        (b'{"type": "portolan-bundle", "format": 1, "portolan": "0.1"}', "is not an evidence file of Portolan"),
        (document_with(format=4, portolan="9.9", targets="otherwise"), "has format 4 (made by portolan 9.9)"),
        (document_with(targets=[{"framework": "torch"}]), "was changed and is not valid evidence (targets.0."),
        (
            document_with(targets=[{**json.loads(document_with())["targets"][0], "charts": []}]),
            "was changed and names a chart that it does not",
        ),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_in_one_line(content: bytes, message: str) -> None:
    with pytest.raises(AssessmentError) as excinfo:
        evidence_file.read(content, "it.json", "from it")
    assert str(excinfo.value).startswith(f"it.json {message}")


def test_the_evidence_that_ships_says_what_it_is_of() -> None:
    shipped_evidence = evidence_file.load_shipped()
    assert {of_target.short for of_target in shipped_evidence.targets} >= {"torch/xla", "tensorflow/xla"}
    for of_target in shipped_evidence.targets:
        assert of_target.hardware
        assert of_target.charts
        assert sum(map(len, of_target.functions.values())) > 500


def test_evidence_is_extended_by_functions_that_it_lacks_from_a_target_of_its_version() -> None:
    base = target({"torch.add": [case("old")]})
    own = target({"torch.add": [case("new")], "torch.sort": [case("charted")]})
    (other,) = [target({"torch.topk": [case("other")]}, version="2.15.0")]
    both = extend(base, [other, own])
    assert {name: [one.case for one in cases] for name, cases in both.functions.items()} == {
        "torch.add": ["torch.foo/old"],
        "torch.sort": ["torch.foo/charted"],
    }
    assert both.charts[both.functions["torch.sort"][0].chart] == own.charts[0]
    assert len(both.charts) == 2
    assert extend(base, [other]) is base


def of_age(days: int, *, ships: bool, **functions: str) -> TargetEvidence:
    """Evidence of some torch functions, each with one case of this name."""
    of_target = target({f"torch.{name}": [case(evidence)] for name, evidence in functions.items()})
    at = CHARTED_AT + timedelta(days=days)
    return replace(of_target, charts=(replace(of_target.charts[0], at=at, ships=ships),))


def test_own_evidence_is_completed_by_what_ships_and_of_each_function_the_newest_counts() -> None:
    own = of_age(1, ships=False, add="own", sort="own")
    shipped = of_age(0, ships=True, add="shipped", topk="shipped")
    elsewhere = replace(of_age(2, ships=True, topk="of another version"), version="2.15.0")
    (both,) = complete(
        EvidenceSet((own,), "from here"), EvidenceSet((shipped, elsewhere), "ships with Portolan")
    ).targets
    names = {name: both.functions[name][0].case.rpartition("/")[2] for name in both.functions}
    assert names == {"torch.add": "own", "torch.sort": "own", "torch.topk": "shipped"}
    assert both.shipped_functions == {"torch.topk"}
    assert both.charted_at == own.charted_at
    newer = of_age(2, ships=True, add="shipped")
    (newest,) = complete(EvidenceSet((own,), "from here"), EvidenceSet((newer,), "ships with Portolan")).targets
    assert newest.shipped_functions == {"torch.add"}


def test_without_own_evidence_all_of_it_ships_and_nothing_is_marked() -> None:
    shipped = EvidenceSet((of_age(0, ships=True, add="shipped"),), "ships with Portolan")
    assert complete(EvidenceSet((), "from here"), shipped) is shipped
    assert shipped.targets[0].shipped_functions == frozenset()


def test_a_report_says_how_much_of_its_evidence_ships_and_which_finding_rests_on_it() -> None:
    own = target({"torch.add": several(3, "own", end="failed")})
    shipped = of_age(-1, ships=True, topk="shipped")
    shipped = replace(shipped, functions={"torch.topk": several(3, "shipped", end="failed")})
    both = extend(own, [shipped])
    sites = (site("torch.add"), site("torch.topk"))
    told = report(assessment_of(both.functions, *sites), *sites, target=both, origin="from here")
    assert told.whole_origin == "1 function from here, and 1 that ship with Portolan (charted by 2026-11-27)"
    marks = {one.verdict.function: told.has_shipped(one.verdict) for one in told.assessment.findings}
    assert marks == {"torch.add": False, "torch.topk": True}
