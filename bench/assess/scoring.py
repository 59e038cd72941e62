"""Predictions against the whole run of a model: what was predicted of it, and which predictions came true. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

Document = Mapping[str, Any]
"""A report of ``portolan assess --format json``."""

SEEN_KINDS = ("fails", "falls-back")
"""The kinds of findings that a whole run shows of a function."""
BACKWARD = "torch.Tensor.backward"
"""The one call in which a whole run sees all that a program computes backward."""
COMMAND = "the command"
VALUES = "the values"


@dataclass(frozen=True, order=True)
class Key:
    """What is predicted, or happens: a function and its kind of bad end."""

    function: str
    kind: str


@dataclass(frozen=True)
class Score:
    """The events of one model, and the predictions for it."""

    events: frozenset[Key]
    predicted_events: frozenset[Key]
    predictions: frozenset[Key]
    """Of a run that ended early those alone that came true: the others had no chance to."""
    met_predictions: frozenset[Key]

    @property
    def missed_events(self) -> frozenset[Key]:
        return self.events - self.predicted_events

    @property
    def unmet_predictions(self) -> frozenset[Key]:
        return self.predictions - self.met_predictions


def plain(function: str) -> str:
    """The name by which a source and a run agree: of ``torch.nn.MaxPool2d`` and ``F.max_pool2d``, ``maxpool2d``."""
    return function.rpartition(".")[2].replace("_", "").lower()


def events_of(whole: Document, *, has_wrong_values: bool) -> frozenset[Key]:
    """What went wrong in a whole run.

    An early end without a call that raised is an event of the command itself.
    """
    keys = {Key(event["function"], event["kind"]) for event in whole["events"]}
    if whole["exit_code"] != 0 and all(key.kind != "fails" for key in keys):
        keys.add(Key(COMMAND, "fails"))
    if has_wrong_values:
        keys.add(Key(VALUES, "wrong"))
    return frozenset(keys)


def findings_of(report: Document, files: AbstractSet[str] | None = None) -> list[Document]:
    """The findings of a report that a whole run could show, with a place in one of the files; None: anywhere."""
    return [
        finding
        for finding in report["findings"]
        if finding["weight"] == "finding"
        and finding["kind"] in (*SEEN_KINDS, "wrong")
        and (files is None or any(place["path"] in files for place in finding["places"]))
    ]


def score(events: AbstractSet[Key], findings: Iterable[Document], *, ended_early: bool) -> Score:
    """Match events and findings by kind and by the plain name of the function.

    The findings of wrong values are one prediction, that the values of the model are wrong. What happens in the
    backward pass is predicted by a finding whose case has a gradient, and meets it.
    """
    predictions: set[Key] = set()
    met_predictions: set[Key] = set()
    predicted_events: set[Key] = set()
    for finding in findings:
        prediction = _prediction(finding)
        matching = {event for event in events if _shows(event, prediction, finding)}
        predictions.add(prediction)
        predicted_events |= matching
        if matching:
            met_predictions.add(prediction)
    return Score(
        events=frozenset(events),
        predicted_events=frozenset(predicted_events),
        predictions=frozenset(met_predictions if ended_early else predictions),
        met_predictions=frozenset(met_predictions),
    )


def _prediction(finding: Document) -> Key:
    return Key(VALUES if finding["kind"] == "wrong" else finding["function"], finding["kind"])


def _shows(event: Key, prediction: Key, finding: Document) -> bool:
    if event.kind != prediction.kind:
        return False
    if event.function == BACKWARD:
        return "gradient" in finding["case"]
    return plain(event.function) == plain(prediction.function)
