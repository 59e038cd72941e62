"""Compares the causes that the rules decide with labels, for failures from public issue trackers.

Authors of rules may read only ``labels/seen.jsonl`` and ``labels/vendors_seen.jsonl``. If they read the other files,
the measured accuracy is meaningless. The failures of each set were divided at random, cause by cause, between two
files: ``seen`` and ``heldout`` from failures on all devices, ``vendors_seen`` and ``vendors_heldout`` from failures on
NPU, DirectML, Neuron, Gaudi, MPS, ROCm, XPU and TPU. ``vendors_fresh`` was collected for the same devices after the
rules about vendors' words were written.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.figure import MeasuredFigure
from coordinator.causes.rules import RULES_REVISION, classify
from protocol.enums import Cause, Ending, Verdict
from protocol.outcomes import Evidence, Outcome

LABELS = Path(__file__).with_name("labels")
SETS = ("seen", "heldout", "vendors_seen", "vendors_heldout", "vendors_fresh")
TARGETS: Mapping[str, float] = {"heldout": 0.95, "vendors_heldout": 0.85, "vendors_fresh": 0.85}
"""The smallest promised share of right causes in each held-out set."""
MOST_WRONG = 0.03
"""The largest promised share of wrong causes in a held-out set; an unknown cause is not wrong."""


@dataclass(frozen=True)
class LabeledFailure:
    """One failure as its issue thread describes it, and the cause that a reader assigned."""

    id: str
    framework: str
    device: str
    ending: Ending
    exception: str | None
    message: str
    cause: str
    also: tuple[str, ...]
    """Other causes that also count as right, because the issue thread does not decide between these causes."""
    sure: bool
    why: str
    source: str

    @property
    def outcome(self) -> Outcome:
        """The outcome that a runner would report. If the process died, its output is in the outcome's log."""
        has_raised, has_mismatched = self.ending is Ending.raised, self.ending is Ending.mismatched
        return Outcome(
            verdict=Verdict.failed,
            ending=self.ending,
            duration_s=1.0,
            evidence=Evidence(
                exception=self.exception,
                message=self.message if has_raised else None,
                mismatch=self.message if has_mismatched else None,
            ),
            log_tail="" if has_raised or has_mismatched else self.message,
        )

    @property
    def named_cause(self) -> str:
        """The cause that the rules decide."""
        cause = classify(self.outcome, framework=self.framework, device=self.device).cause
        return cause.value if cause else "none"

    def accepts(self, cause: str) -> bool:
        return cause == self.cause or cause in self.also


def labels(name: str) -> list[LabeledFailure]:
    lines = (LABELS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [_label(json.loads(line)) for line in lines]


def _label(row: dict[str, Any]) -> LabeledFailure:
    return LabeledFailure(**{**row, "ending": Ending(row["ending"]), "also": tuple(row["also"])})


def figures() -> Iterator[MeasuredFigure]:
    for name in SETS:
        examples = labels(name)
        yield accuracy(name, examples)
        yield accuracy(f"{name}_sure", [label for label in examples if label.sure])


def accuracy(name: str, examples: Sequence[LabeledFailure]) -> MeasuredFigure:
    """The share of failures with the right cause. The detail has the number of wrong decisions for each pair of right
    and decided cause, and the failures' ids only for sets that authors of rules may read.
    """
    causes = {label.id: label.named_cause for label in examples}
    missed = [label for label in examples if not label.accepts(causes[label.id])]
    wrong = [label for label in missed if causes[label.id] != Cause.unknown]
    right = 1 - len(missed) / len(examples)
    exactly = sum(causes[label.id] == label.cause for label in examples) / len(examples)
    detail: dict[str, Any] = {
        "rules": RULES_REVISION,
        "first_choice": exactly,
        "unknown": len(missed) - len(wrong),
        "another_cause": len(wrong),
        "per_cause": _per_cause(examples, causes),
        "confusion": dict(Counter(f"{label.cause} as {causes[label.id]}" for label in missed)),
    }
    target = TARGETS.get(name.removesuffix("_sure"))
    if target is None:
        detail["wrong"] = sorted(label.id for label in missed)
    return MeasuredFigure(
        f"causes_{name}",
        right,
        "share of labeled failures",
        target="no goal: rules may be written from these"
        if target is None
        else f"at least {target:.0%}, and another cause for less than {MOST_WRONG:.0%}",
        met=None if target is None else right >= target and len(wrong) / len(examples) < MOST_WRONG,
        n=len(examples),
        detail=detail,
    )


def _per_cause(examples: Sequence[LabeledFailure], causes: Mapping[str, str]) -> dict[str, str]:
    """For each cause, the number of its failures with the right cause."""
    total = Counter(label.cause for label in examples)
    right = Counter(label.cause for label in examples if label.accepts(causes[label.id]))
    return {cause: f"{right[cause]} of {count}" for cause, count in total.most_common()}
