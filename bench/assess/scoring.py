"""Compares the predictions for a model with its whole run. Does no I/O."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

from coordinator.assess.evidence import TargetEvidence
from coordinator.assess.findings import Assessment
from coordinator.assess.verdicts import KINDS, Kind, Weight
from coordinator.assess.whole_run import BACKWARD
from coordinator.assess.whole_run import KINDS as EVENT_KINDS
from protocol.recording_format import GRADIENT_SUFFIX
from protocol.watched_run import WatchedRun

COMMAND = "the command"
VALUES = "the values"
PREDICTING = (Kind.wrong, Kind.fails, Kind.falls_back)


@dataclass(frozen=True, order=True)
class ModelEvent:
    """A function that raised, fell back or gave wrong values in a whole run."""

    function: str
    kind: Kind


@dataclass(frozen=True, order=True)
class Prediction:
    """A prediction that a function raises an error, falls back or gives wrong values."""

    function: str
    kind: Kind
    is_backward: bool
    """Whether the prediction is about cases with a gradient. In a whole run, these are the backward pass."""

    def is_of(self, event: ModelEvent) -> bool:
        if event.kind != self.kind:
            return False
        return (self.is_backward and event.function == BACKWARD) or plain(event.function) == plain(self.function)


@dataclass(frozen=True)
class Score:
    """The events of one model, and the predictions for it."""

    events: frozenset[ModelEvent]
    missed_events: frozenset[ModelEvent]
    """The events that no prediction names."""
    predictions: frozenset[Prediction]
    """The predictions that count. If the run ended early, only those that came true count, because the run may not have
    reached the others."""
    unmet_predictions: frozenset[Prediction]

    @property
    def predicted(self) -> int:
        return len(self.events) - len(self.missed_events)

    @property
    def met(self) -> int:
        return len(self.predictions) - len(self.unmet_predictions)


def score(events: AbstractSet[ModelEvent], predictions: Iterable[Prediction], *, ended_early: bool) -> Score:
    all_predictions = frozenset(predictions)
    unmet_predictions = frozenset(one for one in all_predictions if not any(map(one.is_of, events)))
    missed_events = frozenset(event for event in events if not any(one.is_of(event) for one in all_predictions))
    if ended_early:
        return Score(frozenset(events), missed_events, all_predictions - unmet_predictions, frozenset())
    return Score(frozenset(events), missed_events, all_predictions, unmet_predictions)


def plain(function: str) -> str:
    """The name by which predictions and events are matched: ``maxpool2d`` for ``torch.nn.MaxPool2d`` and
    ``F.max_pool2d``."""
    return function.rpartition(".")[2].replace("_", "").lower()


def events_of(run: WatchedRun, *, has_wrong_values: bool) -> frozenset[ModelEvent]:
    """The events of a whole run. If the command ended early and no call raised, the early end is an event of its
    own."""
    events = {ModelEvent(event.function, EVENT_KINDS[event.kind]) for event in run.events}
    if run.exit_code != 0 and all(event.kind is not Kind.fails for event in events):
        events.add(ModelEvent(COMMAND, Kind.fails))
    if has_wrong_values:
        events.add(ModelEvent(VALUES, Kind.wrong))
    return frozenset(events)


def predictions_of_recording(assessment: Assessment, replays: TargetEvidence) -> Iterable[Prediction]:
    """The predictions of a recording. All findings of wrong values together are one prediction: the model's values are
    wrong."""
    for finding in assessment.of_weight(Weight.finding):
        kind, function = finding.verdict.kind, finding.verdict.function
        if kind in PREDICTING:
            failing_cases = filter(KINDS[kind], replays.functions[function])
            is_backward = any(case.case.endswith(GRADIENT_SUFFIX) for case in failing_cases)
            yield prediction(function, kind, is_backward=is_backward)


def predictions_of_source(
    report: Mapping[str, Any], unused_names: Mapping[str, Collection[str]]
) -> Iterable[Prediction]:
    """The predictions of a JSON report: its findings with a site in one of the files, outside of unused layers and
    functions."""

    def is_of_model(place: Mapping[str, Any]) -> bool:
        names = unused_names.get(place["path"])
        return names is not None and place["within"].partition(".")[0] not in names

    for finding in report["findings"]:
        is_predicting = finding["weight"] == Weight.finding and finding["kind"] in PREDICTING
        if is_predicting and any(map(is_of_model, finding["places"])):
            yield prediction(finding["function"], Kind(finding["kind"]), is_backward=finding["backward"])


def prediction(function: str, kind: Kind, *, is_backward: bool) -> Prediction:
    if kind is Kind.wrong:
        return Prediction(VALUES, kind, is_backward=False)
    return Prediction(function, kind, is_backward)
