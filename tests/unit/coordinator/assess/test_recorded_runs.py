"""A recorded command in an assessment: its calls are sites, its replays give findings, and sentences explain both."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from coordinator.assess.code import Code
from coordinator.assess.evidence import CaseEvidence
from coordinator.assess.findings import Assessment
from coordinator.assess.formats.as_json import json_of
from coordinator.assess.formats.html import html_of
from coordinator.assess.formats.terminal import WIDTH, text_of
from coordinator.assess.recorded_run import CANNOT_KNOW, RecordedRun
from coordinator.assess.recordings import read_recording, source_of
from coordinator.assess.replayed import assess_replays, without_outcome
from coordinator.assess.report import AssessmentReport
from coordinator.assess.verdicts import SLOW, Kind, Weight
from coordinator.errors import AssessmentError
from coordinator.results.conditions import UNKNOWN_VALUE, CallSite
from protocol.enums import Cause, Ending, Judge
from protocol.recording import CallEntry, Crossing, LeftOut, RecordedGradient, RecordedSite, Recording
from tests.unit.coordinator.assess.cases import report, target


def at(*lines: int, count: int = 1, file: str = "train.py") -> list[RecordedSite]:
    return [RecordedSite(file=file, line=line, count=count) for line in lines]


def call(function: str, name: str, *lines: int, gradient: bool = False, **changes: Any) -> CallEntry:
    values: dict[str, Any] = {
        "function": function,
        "name": name,
        "dtype": "float32",
        "call": {"tuple": [[{"array": 0}], {"mapping": []}]},
        "arrays": [{"dtype": "float32", "shape": [2]}],
        "changes": [],
        "is_random": False,
        "gradient": RecordedGradient(wanted=[0], results=[None]) if gradient else None,
        "count": len(lines),
        "seconds": 1.0,
        "sites": at(*lines),
    }
    return CallEntry(**{**values, **changes})


def recording(*calls: CallEntry, **changes: Any) -> Recording:
    values: dict[str, Any] = {
        "portolan": "0.1.0",
        "framework": "torch",
        "version": "2.9.0",
        "command": ["python", "train.py", "--name", "a b"],
        "folder": "/home/me",
        "recorded_at": datetime(2026, 11, 28, tzinfo=UTC),
        "seconds": 3.0,
        "exit_code": 0,
        "notes": [],
        "calls": list(calls),
        "crossings": [],
        "left_out": [],
    }
    return Recording(**{**values, **changes})


def outcome(case: str, end: Any = "passed", **changes: Any) -> CaseEvidence:
    values: dict[str, Any] = {"end": end, "case": case, "chart": 0, "judged_by": Judge.float64}
    if end == "failed":
        values |= {"ending": Ending.raised, "cause": Cause.not_implemented, "said": "no kernel"}
    return CaseEvidence(**{**values, **changes})


CALLS = (
    call("torch.sort", "a", 3, 4),
    call("torch.sort", "b", 4),
    call("torch.mm", "a", 5, gradient=True),
    call("torch.sin", "a", 6),
)
REPLAYS = target(
    {
        "torch.sort": [outcome("torch.sort/a", "fell_back", ratio=2.0), outcome("torch.sort/b", ratio=2.0)],
        "torch.usual": [outcome("torch.usual/a", ratio=2.0)],
        "torch.mm": [
            outcome("torch.mm/a", ratio=90.0),
            outcome("torch.mm/a-gradient", "failed", ending=Ending.mismatched, cause=Cause.precision, said="digits"),
        ],
    }
)


@pytest.fixture
def assessment() -> Assessment:
    return assess_replays(recording(*CALLS), REPLAYS, SLOW)


def finding_rows(assessment: Assessment, weight: Weight) -> list[tuple[str, Kind, int, int, list[int]]]:
    return [
        (finding.verdict.function, finding.verdict.kind, finding.verdict.failing, finding.verdict.of,
         [site.line for site in finding.places])
        for finding in assessment.of_weight(weight)
    ]  # fmt: skip


def test_a_call_is_judged_by_its_own_replays_and_its_lines_are_the_places(assessment: Assessment) -> None:
    assert finding_rows(assessment, Weight.finding) == [
        ("torch.sort", Kind.falls_back, 1, 2, [3, 4]),
        ("torch.mm", Kind.slow, 1, 1, [5]),
    ]
    assert finding_rows(assessment, Weight.note) == [("torch.mm", Kind.wrong, 1, 1, [5])]
    assert assessment.unknown == {"torch.sin": 1}
    assert without_outcome(recording(*CALLS), REPLAYS) == 1


def test_a_single_replay_makes_a_finding() -> None:
    evidence = target({"torch.sin": [outcome("torch.sin/a", "failed")]})
    (finding,) = assess_replays(recording(CALLS[3]), evidence, SLOW).serious
    assert (finding.verdict.kind, finding.verdict.said) == (Kind.fails, "no kernel")


def test_recorded_calls_are_sites_whose_arguments_are_known() -> None:
    arguments = [{"array": 0}, 1, {"tuple": [1, 2]}]
    options = [["mode", "a"], ["size", {"tuple": [1, 2]}], ["out", {"array": 1}], ["dtype", {"dtype": "x", "named": 1}]]
    recorded_arguments = {"tuple": [arguments, {"mapping": options}]}
    calls = [call(name, "a", 3, call=recorded_arguments) for name in ("torch.foo", "torch.Tensor.foo")]
    of_function, of_method = source_of(recording(*calls)).sites
    keywords = {"mode": "a", "size": [1, 2], "out": UNKNOWN_VALUE, "dtype": UNKNOWN_VALUE}
    assert of_function.call == CallSite(3, keywords, {2: 1, 3: [1, 2]})
    assert of_method.call == CallSite(2, keywords, {1: 1, 2: [1, 2]})
    assert of_function.dtypes == {"float32"}
    assert (of_function.path, of_function.line) == ("train.py", 3)


def make_report(assessment: Assessment, run: RecordedRun) -> AssessmentReport:
    return report(assessment, *source_of(run.recording).sites, run=run, target=REPLAYS, prefix="")


def test_every_format_says_where_it_crosses_and_what_it_cannot_know(assessment: Assessment, tmp_path: Path) -> None:
    crossings = [
        Crossing(function="torch.Tensor.item", direction="to_host", sites=at(8, count=20)),
        Crossing(function="torch.Tensor.to", direction="to_device", sites=at(2, count=3)),
    ]
    left_out = [LeftOut(function="torch.zeros", reason="on the host", sites=at(1, count=4))]
    run = RecordedRun(
        recording(*CALLS, crossings=crossings, left_out=left_out, notes=["It forked processes."]),
        REPLAYS,
        without_outcome=1,
    )
    run_report = make_report(assessment, run)
    text = text_of(run_report)
    assert max(map(len, (line for line in text.splitlines() if "$ " not in line))) <= WIDTH
    printed_text = " ".join(text.replace("│", " ").split())
    for words in (
        "Run: `python train.py --name 'a b'`: 4 distinct calls of torch 2.9.0",
        "Values cross 20 times to the host and 3 times to the device",
        "20 to the host torch.Tensor.item train.py:8",
        "1 call whose replay has no counted outcome",
        "4 calls that a recording cannot contain (4: on the host)",
        "it forked processes",
        CANNOT_KNOW[0],
    ):
        assert words in printed_text
    page = html_of(run_report, Code(tmp_path))
    assert "<li>20 times to the host: <code>torch.Tensor.item</code> at <code>train.py:8</code></li>" in page
    assert all(f"<li>{clause}</li>" in page for clause in run.unknowable)
    document = json.loads(json_of(run_report))["run"]
    assert document["crossings"][0] == {
        "place": "train.py:8", "function": "torch.Tensor.item", "direction": "to_host", "count": 20,
    }  # fmt: skip
    assert document["cannot_know"] == list(run.unknowable)
    # One second each at 2, 2 and 90 times.
    assert [(line["place"], round(line["on_target"], 3)) for line in document["times"]] == [
        ("train.py:5", 0.957), ("train.py:4", 0.032), ("train.py:3", 0.011),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("exit_code", "ending"),
    [
        (0, "1 of its 1 function is charted."),
        (3, "; the command ended with exit code 3."),
        (-9, "; the command ended with signal 9."),
        (None, "; the command was killed before its end."),
    ],
)
def test_a_first_line_that_finds_nothing_says_that_the_command_ended_early(exit_code: int | None, ending: str) -> None:
    nothing_wrong = Assessment((), {"torch.sin": 1}, {})
    run = RecordedRun(recording(call("torch.sin", "float32-1", 3), exit_code=exit_code), None)
    own_report = make_report(nothing_wrong, run)
    assert own_report.first_line.endswith(ending)
    assert "made 1 time in 3.0 s" in own_report.charted_line


def test_a_recording_of_another_version_is_said_to_be_one(assessment: Assessment) -> None:
    run = RecordedRun(recording(*CALLS), None)
    of = report(assessment, target=target({}), source=source_of(recording(*CALLS)), run=run, installed="2.7.1")
    assert of.first_line.startswith("On torch/xla (charted for 2.9.0, while 2.7.1 made the recording) this code ")
    assert of.version_warning == "torch 2.7.1 made the recording, but the evidence is for 2.9.0: results may differ."


def test_without_a_replay_it_says_why_and_takes_no_time(assessment: Assessment) -> None:
    run = RecordedRun(recording(*CALLS, exit_code=None), None, "torch is not installed here")
    assert run.times == ()
    assert "the results of these calls, which were not replayed: torch is not installed here" in run.unknowable
    assert run.called_line.endswith("the command was killed before its end")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[", "is not a recording of Portolan: create one with `portolan-runner record`"),
        (b'{"type": "portolan-recording", "format": 2, "portolan": "9"}', r"has format 2 \(made by portolan 9\)"),
        (b'{"type": "portolan-recording", "format": 1, "portolan": "0"}', r"is not a valid recording \(framework"),
    ],
)
def test_what_is_no_recording_is_refused_in_one_line(content: bytes, message: str) -> None:
    with pytest.raises(AssessmentError, match=message) as excinfo:
        read_recording(content, "recording.json")
    assert "\n" not in str(excinfo.value)


def test_a_recording_is_read_as_it_was_written() -> None:
    one = recording(*CALLS)
    assert read_recording(one.model_dump_json().encode(), "recording.json") == one
