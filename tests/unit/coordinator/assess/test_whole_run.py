"""A whole run on the target is compared with the predictions of its replayed calls."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from coordinator.assess.findings import Finding
from coordinator.assess.formats.as_json import json_of
from coordinator.assess.formats.terminal import WIDTH, text_of
from coordinator.assess.recordings import source_of
from coordinator.assess.replayed import assess_replays
from coordinator.assess.report import kind_sentence
from coordinator.assess.verdicts import SLOW, Kind
from coordinator.assess.whole_run import WholeRun
from protocol.recording import RecordedSite
from protocol.watched_run import WatchedEvent, WatchedRun
from tests.unit.coordinator.assess.cases import report, target
from tests.unit.coordinator.assess.test_recorded_runs import call, outcome, recording

RECORDING = recording(call("torch.sort", "a", 3), call("torch.mm", "a", 5), call("torch.sin", "a", 6))
FINDINGS = assess_replays(
    RECORDING,
    target(
        {
            "torch.sort": [outcome("torch.sort/a", "fell_back")],
            "torch.mm": [outcome("torch.mm/a", "failed")],
            "torch.sin": [outcome("torch.sin/a")],
        }
    ),
    SLOW,
)


def event(function: str, kind: Any, said: str, *lines: int) -> WatchedEvent:
    sites = [RecordedSite(file="train.py", line=line, count=2) for line in lines]
    return WatchedEvent(function=function, kind=kind, said=said, sites=sites)


def whole(
    *events: WatchedEvent, exit_code: int | None = 0, findings: Sequence[Finding] = FINDINGS.findings
) -> WholeRun:
    run = WatchedRun(
        portolan="0.1.0",
        framework="torch",
        version="2.9.0",
        device="xla",
        command=RECORDING.command,
        watched_at=datetime(2026, 11, 28, tzinfo=UTC),
        seconds=12.25,
        exit_code=exit_code,
        notes=[],
        events=list(events),
    )
    return WholeRun(run, tuple(findings), RECORDING.seconds)


def text(of: WholeRun | None, **changes: Any) -> list[str]:
    told = report(FINDINGS, target=target({}), source=source_of(RECORDING), whole=of, **changes)
    lines = text_of(told).splitlines()
    assert all(len(line) <= WIDTH for line in lines)
    return lines


def test_an_event_that_a_finding_names_was_predicted_whatever_its_operations() -> None:
    of = whole(
        event("torch.sort", "fell_back", "aten::sort", 3),
        event("torch.sort", "fell_back", "aten::topk", 3, 4),
        event("torch.sin", "raised", "RuntimeError: no", 6),
    )
    assert [(one.function, one.kind, one.places, one.is_predicted) for one in of.events] == [
        ("torch.sort", Kind.falls_back, ("train.py:3", "train.py:4"), True),
        ("torch.sin", Kind.fails, ("train.py:6",), False),
    ]
    assert [(one.function, one.kind, one.place) for one in of.unmet] == [("torch.mm", Kind.fails, "train.py:5")]


def test_what_falls_back_in_the_backward_pass_was_predicted_by_the_gradient_of_a_call() -> None:
    replays = target({"torch.sort": [outcome("torch.sort/a"), outcome("torch.sort/a-gradient", "fell_back")]})
    findings = assess_replays(recording(call("torch.sort", "a", 3, gradient=True)), replays, SLOW).findings
    of = whole(event("torch.Tensor.backward", "fell_back", "aten::index_put", 7), findings=findings)
    assert [one.is_predicted for one in of.events] == [True]
    assert of.unmet == ()
    assert of.score_line == "predicted fallbacks and errors: 1 of 1; predictions that came true: 1 of 1"
    forward_only = whole(event("torch.Tensor.backward", "fell_back", "aten::index_put", 7))
    assert [one.is_predicted for one in forward_only.events] == [False]


def test_a_finding_about_both_passes_predicts_what_falls_back_in_the_backward_pass() -> None:
    def findings(*operations: str) -> Sequence[Finding]:
        forward = outcome("torch.sort/a", "fell_back", operations=("aten::sort",))
        backward = outcome("torch.sort/a-gradient", "fell_back", operations=operations)
        replays = target({"torch.sort": [forward, backward]})
        return assess_replays(recording(call("torch.sort", "a", 3, gradient=True)), replays, SLOW).findings

    events = event("torch.sort", "fell_back", "aten::sort", 3), event("torch.Tensor.backward", "fell_back", "b", 7)
    both = whole(*events, findings=findings("aten::sort", "aten::index_put"))
    assert [one.is_predicted for one in both.events] == [True, True]
    assert [one.is_predicted for one in whole(*events, findings=findings("aten::sort")).events] == [True, False]


def test_a_failure_of_the_backward_pass_alone_is_told_apart() -> None:
    replays = target({"torch.sort": [outcome("torch.sort/a"), outcome("torch.sort/a-gradient", "failed")]})
    (finding,) = assess_replays(recording(call("torch.sort", "a", 3, gradient=True)), replays, SLOW).findings
    assert kind_sentence(finding) == "fails in 1 of 1 replays of its calls with the backward pass"


def test_the_text_says_what_happened_beside_what_was_predicted() -> None:
    lines = text(whole(event("torch.sort", "fell_back", "aten::sort", 3), exit_code=1))
    begin = lines.index("The whole command on torch/xla: it ended with exit code 1 after 12.2 s; on the")
    assert lines[begin : begin + 7] == [
        "The whole command on torch/xla: it ended with exit code 1 after 12.2 s; on the",
        "CPU it took 3.0 s while recorded.",
        "  HOST  torch.sort (predicted): aten::sort",
        "      at train.py:3",
        "  FAILS torch.mm (predicted, did not happen) [train.py:5]",
        "Predicted fallbacks and errors: 1 of 1; predictions that came true: 1 of 2 (the",
        "others may concern calls after the early end).",
    ]


def test_a_run_that_was_killed_or_crashed_is_said_to_be() -> None:
    assert whole(exit_code=None).ended_line.startswith("it was killed after 12.2 s")
    assert whole(exit_code=-11).ended_line.startswith("it ended with signal 11 after")
    lines = text(None, why_not_whole="torch is not installed here")
    assert "The whole command could not be run on torch/xla: torch is not installed here." in lines


def test_json_has_the_events_and_the_predictions_that_did_not_come_true() -> None:
    of = whole(event("torch.sort", "fell_back", "aten::sort", 3))
    document = json.loads(json_of(report(FINDINGS, whole=of)))
    assert document["whole"]["events"][0]["is_predicted"] is True
    assert document["whole"]["unmet"] == [{"function": "torch.mm", "kind": "fails", "place": "train.py:5"}]
    assert json.loads(json_of(report(FINDINGS)))["whole"] is None
