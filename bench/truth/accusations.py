"""Compares accusations (claims of a chart against a device) with a person's labels. Measures the share of accusations
that are true, or whose reason holds for every device and is given in the chart.

``labels/accusations.jsonl`` contains accusations that were drawn at random (``drawing.py``) from charts of ``library``
and ``docs`` on torch/xla and tensorflow/xla. A person repeated each accusation with a small script in the framework's
own environment, without Portolan, and recorded the truth. If an accusation is wrong, Portolan is corrected, but the
label stays *wrong*. A later draw measures the effect of the correction.
"""

from __future__ import annotations

import importlib
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from bench.figure import MeasuredFigure

LABELS = Path(__file__).with_name("labels") / "accusations.jsonl"
RUNNERS = Path(__file__).resolve().parents[2] / "runners"
UNDETERMINED = "not determined"
"""The text in the lists of a suite that marks cases as excluded by a rule."""
TARGET = 0.98
FRAMEWORKS = ("torch", "tensorflow")
"""The frameworks with labeled accusations."""


class Judgement(StrEnum):
    """A person's judgement of an accusation."""

    true = "true"
    by_design = "by_design"
    """The claim is true of every device, and the chart says so, with the cause ``host_work`` or as ``host_only``."""
    unmarked = "unmarked"
    """The claim is true of every device, but the chart does not say so."""
    wrong = "wrong"

    @property
    def holds(self) -> bool:
        return self in (Judgement.true, Judgement.by_design)


@dataclass(frozen=True)
class JudgedAccusation:
    """An accusation with a person's judgement."""

    case: str
    suite: str
    framework: str
    target: str
    kind: str
    """The kind, one of ``drawing.KINDS``."""
    cause: str
    said: str
    label: Judgement
    why: str
    draw: int
    """The number of the draw. A later draw is made after corrections, and has only functions that were in no chart of
    an earlier draw."""

    @property
    def function(self) -> str:
        return self.case.partition("/")[0]

    @property
    def stratum(self) -> str:
        return f"{self.suite}_{self.framework}"


def labels() -> list[JudgedAccusation]:
    rows = map(json.loads, LABELS.read_text().splitlines())
    return [JudgedAccusation(**{**row, "label": Judgement(row["label"])}) for row in rows]


def figures() -> Iterator[MeasuredFigure]:
    """Measure each draw, and each suite and framework within it."""
    every = labels()
    last = max(label.draw for label in every)
    for draw in sorted({label.draw for label in every}):
        of_draw = [label for label in every if label.draw == draw]
        yield _share(f"accusations_{draw}", of_draw, is_promised=draw == last)
        for stratum in sorted({label.stratum for label in of_draw}):
            of_stratum = [label for label in of_draw if label.stratum == stratum]
            yield _share(f"accusations_{draw}_{stratum}", of_stratum, is_promised=False)


def _share(name: str, labels: Sequence[JudgedAccusation], *, is_promised: bool) -> MeasuredFigure:
    share = sum(label.label.holds for label in labels) / len(labels)
    return MeasuredFigure(
        name,
        share,
        "share of accusations",
        target=f"at least {TARGET:.0%} true, or by design and marked" if is_promised else "no goal for a part",
        met=share >= TARGET if is_promised else None,
        n=len(labels),
        detail={
            "labels": dict(Counter(label.label.value for label in labels)),
            "kinds": _per_kind(labels),
            "wrong": sorted(label.case for label in labels if not label.label.holds),
        },
    )


def _per_kind(labels: Sequence[JudgedAccusation]) -> dict[str, str]:
    total = Counter(label.kind for label in labels)
    right_counts = Counter(label.kind for label in labels if label.label.holds)
    return {kind: f"{right_counts[kind]} of {count}" for kind, count in total.most_common()}


def check_kept(framework: str) -> MeasuredFigure:
    """Measure the share of a framework's labeled cases that are still in its suites, or that a rule has excluded since.

    A rule excludes cases whose result is not determined, whatever their label, and gives the reason in its list. If a
    labeled case was neither kept nor excluded by a rule, its label is useless, and must be replaced by a new draw. A
    case may be removed without a reason if its label says that the accusation is wrong.
    """
    mine = [label for label in labels() if label.framework == framework]
    suites = importlib.import_module(f"runners.{framework}").FRAMEWORK.load_suites()
    known_cases = {
        (name, case.id)
        for name in {label.suite for label in mine}
        for function in suites[name].functions
        for case in function.cases
    }
    gone = sorted(label.case for label in mine if label.label.holds and (label.suite, label.case) not in known_cases)
    reasons = removal_reasons(framework)
    lost_cases = [case for case in gone if case not in reasons]
    return MeasuredFigure(
        f"accusations_kept_{framework}",
        1 - len(lost_cases) / len(mine),
        "share of labeled cases",
        target="all, except those that a rule excludes",
        met=not lost_cases,
        n=len(mine),
        detail={"gone": lost_cases, "left_out": {case: reasons[case] for case in gone if case in reasons}},
    )


def removal_reasons(framework: str) -> dict[str, str]:
    """The reasons why ``library`` excludes cases whose result is not determined, by case id."""
    folder = RUNNERS / framework / "suites" / "library"
    lists = [
        json.loads((folder / name).read_text())["left_out"] for name in ("left_out.json", "left_out_variants.json")
    ]
    return {
        f"{function}/{name}": why
        for reasons in lists
        for function, names in reasons.get(UNDETERMINED, {}).items()
        for name, why in names.items()
    }
