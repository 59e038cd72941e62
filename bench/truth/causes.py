"""Causes against labels: what the rules say of failures that a person labelled from public issue trackers.

``labels/seen.jsonl`` may be read by whoever writes rules; ``labels/heldout.jsonl`` may not, or
its figure says nothing. Both were drawn at random, cause by cause, from the same pile.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.figure import Figure
from coordinator.causes.rules import RULES_REVISION, classify
from protocol.enums import Ending, Verdict
from protocol.outcomes import Evidence, Outcome

LABELS = Path(__file__).with_name("labels")
HALVES = ("seen", "heldout")
TARGET = 0.95


@dataclass(frozen=True)
class Label:
    """One failure as its thread tells it, and the cause that a person gave it."""

    id: str
    framework: str
    device: str
    ending: Ending
    exception: str | None
    message: str
    cause: str
    also: tuple[str, ...]
    """Causes that are right as well, as the words of the thread do not decide between them."""
    sure: bool
    why: str
    source: str

    @property
    def outcome(self) -> Outcome:
        """What a runner would report of it; what a dying process printed stands in its log."""
        raised, mismatched = self.ending is Ending.raised, self.ending is Ending.mismatched
        return Outcome(
            verdict=Verdict.failed,
            ending=self.ending,
            duration_s=1.0,
            evidence=Evidence(
                exception=self.exception,
                message=self.message if raised else None,
                mismatch=self.message if mismatched else None,
            ),
            log_tail="" if raised or mismatched else self.message,
        )

    @property
    def found(self) -> str:
        """The cause that the rules name."""
        cause = classify(self.outcome, framework=self.framework, device=self.device).cause
        return cause.value if cause else "none"

    def accepts(self, cause: str) -> bool:
        return cause == self.cause or cause in self.also


def labels(half: str) -> list[Label]:
    lines = (LABELS / f"{half}.jsonl").read_text().splitlines()
    return [_label(json.loads(line)) for line in lines]


def _label(row: dict[str, Any]) -> Label:
    return Label(**{**row, "ending": Ending(row["ending"]), "also": tuple(row["also"])})


def figures() -> Iterator[Figure]:
    for half in HALVES:
        labelled = labels(half)
        yield accuracy(half, labelled)
        yield accuracy(f"{half}_sure", [label for label in labelled if label.sure])


def accuracy(name: str, labelled: Sequence[Label]) -> Figure:
    """The share of failures that the rules name rightly; the confusion stands in the detail.

    Ids are told of the half that everybody may read, and of the other only counts.
    """
    found = {label.id: label.found for label in labelled}
    wrong = [label for label in labelled if not label.accepts(found[label.id])]
    right = 1 - len(wrong) / len(labelled)
    exactly = sum(found[label.id] == label.cause for label in labelled) / len(labelled)
    detail: dict[str, Any] = {
        "rules": RULES_REVISION,
        "first_choice": exactly,
        "per_cause": _per_cause(labelled, found),
        "confusion": dict(Counter(f"{label.cause} as {found[label.id]}" for label in wrong)),
    }
    if name.startswith("seen"):
        detail["wrong"] = sorted(label.id for label in wrong)
    must = name.startswith("heldout")
    return Figure(
        f"causes_{name}",
        right,
        "share of labelled failures",
        target=f"at least {TARGET:.0%}" if must else "nothing promised: rules may be written from these",
        met=right >= TARGET if must else None,
        n=len(labelled),
        detail=detail,
    )


def _per_cause(labelled: Sequence[Label], found: dict[str, str]) -> dict[str, str]:
    """Of each cause, how many of its failures were named rightly."""
    total = Counter(label.cause for label in labelled)
    right = Counter(label.cause for label in labelled if label.accepts(found[label.id]))
    return {cause: f"{right[cause]} of {count}" for cause, count in total.most_common()}
