"""Counting rules: how the cases of a function on a target add up to a verdict. It does no I/O.

To add a rule, add a row to ``RULES``. The views, the stored matrix, REST, the pages and the command line follow.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from coordinator.errors import UnknownNameError
from coordinator.figures.formats import fraction, verdict_words
from protocol.enums import Cause, Judge


@dataclass(frozen=True, slots=True)
class Counts:
    """The cases of one function on one target, counted by one rule."""

    verdict: str
    """``success``, ``partial``, ``complete`` or ``unknown``."""
    passed: int
    failed: int
    total: int
    """The sum of ``passed`` and ``failed``."""
    unknown: int
    """Cases that passed with unknown placement. They are neither in ``passed`` nor in ``failed``."""
    cause: str | None = None
    """The most frequent cause of the failed cases."""

    @property
    def fraction(self) -> str:
        return fraction(self.passed, self.total)

    @property
    def description(self) -> str:
        return f"{self.fraction} cases passed: {verdict_words(self.verdict)}" if self.total else "no counted case"


NOTHING_COUNTED = Counts("unknown", 0, 0, 0, 0)


class CaseClass(StrEnum):
    """The class of a case. Each case has exactly one class, so that suites with many gradients can be compared with
    suites without gradients."""

    forward = "forward"
    """The case calls its function without floats, or with types of at least 32 bits."""
    gradient = "gradient"
    """The case runs its function forward and backward, with any dtype."""
    sixteen_bit = "sixteen_bit"
    """The case calls its function with float16 or bfloat16."""


@dataclass(frozen=True)
class CountingRule:
    name: str
    label: str
    """The rule in a few words, shown next to a number."""
    sentence: str
    """The rule's definition in one sentence, to which pages link the label."""
    cases: str = "true"
    """The cases that count: an SQL condition on ``cause``, ``judged_by`` and ``case_class`` of a case or an outcome."""
    on_device: bool = False
    """Whether placement counts. If it does, a case that passed by falling back to the host counts as failed, a case
    with unknown placement is unknown, and a function that never uses a device has no verdict."""
    least_cases: int = 1
    """The minimum number of counted cases. With fewer cases, the function's verdict is unknown."""

    @property
    def verdict_column(self) -> str:
        """The column of outcomes and cases with the verdict that this rule counts."""
        return "verdict_on_device" if self.on_device else "verdict"

    @property
    def cause_column(self) -> str:
        return "cause_on_device" if self.on_device else "cause"

    @property
    def suffix(self) -> str:
        """The suffix of this rule's columns where the counts of several rules are shown side by side."""
        return "" if self == ANYWHERE else f"_{self.name}"

    @property
    def counted_by(self) -> str:
        """The rule's name in the column ``counted_by`` of tables, which names the column of verdicts from which the
        table was made."""
        return f"verdict{self.suffix}"


def _words(words: list[str]) -> str:
    return ", ".join(f"'{word}'" for word in words)


ANYWHERE = CountingRule(
    name="anywhere",
    label="anywhere",
    sentence="every case counts, and a fallback to the host passes",
)
ON_DEVICE = CountingRule(
    name="on_device",
    label="on device",
    sentence="a fallback to the host fails, and a passing case with unknown placement is excluded",
    on_device=True,
)
WITHOUT_HOST_WORK = CountingRule(
    name="without_host_work",
    label="without host work",
    sentence="cases that fail as host work (data sets, strings, tables, files, prints) are excluded",
    cases=f"cause IS DISTINCT FROM '{Cause.host_work}'",
)
INDEPENDENT = CountingRule(
    name="independent",
    label="independent",
    sentence="only cases with an independent reference count",
    cases=f"coalesce(judged_by IN ({_words([judge for judge in Judge if judge.is_independent])}), false)",
)
WITHOUT_ONE_CASE_VERDICTS = CountingRule(
    name="without_one_case_verdicts",
    label="without one-case verdicts",
    sentence="every case counts, and a function with a single counted case is unknown",
    least_cases=2,
)


def _of_class(case_class: CaseClass, name: str, label: str, cases: str) -> CountingRule:
    return CountingRule(
        name=name,
        label=label,
        sentence=f"the rule on_device, applied only to {cases}",
        cases=f"case_class = '{case_class}'",
        on_device=True,
    )


FORWARD = _of_class(CaseClass.forward, "forward", "forward", "cases without a gradient and without a 16-bit float type")
GRADIENTS = _of_class(CaseClass.gradient, "gradients", "gradients", "cases that compute a gradient")
SIXTEEN_BIT = _of_class(
    CaseClass.sixteen_bit, "sixteen_bit", "16-bit types", "cases in float16 or bfloat16 without a gradient"
)
CLASS_RULES = (FORWARD, GRADIENTS, SIXTEEN_BIT)

RULES = (ANYWHERE, ON_DEVICE, WITHOUT_HOST_WORK, INDEPENDENT, WITHOUT_ONE_CASE_VERDICTS, *CLASS_RULES)
NAMES = tuple(rule.name for rule in RULES)
SIDE_BY_SIDE = (ANYWHERE, ON_DEVICE)
"""The rules whose counts are shown side by side unless the reader chooses a rule."""


def rule_named(name: str) -> CountingRule:
    """Return the rule with this name. Raises ``UnknownNameError`` with the names of all rules."""
    for rule in RULES:
        if rule.name == name:
            return rule
    raise UnknownNameError(f"there is no counting rule {name!r}; choose one of: {', '.join(NAMES)}")


Counted = dict[str, Counts]
"""The counts of a function on a target, by the names of the rules that give it a verdict."""


def rule_label(counted_by: str) -> str:
    """Return the label of the rule with this name in ``counted_by``."""
    return next(rule.label for rule in RULES if rule.counted_by == counted_by)


@lru_cache(maxsize=10_000)
def counts_of(counts_text: str) -> Counted:
    """Return the counts of a cell, parsed from the database's text. Cells with equal counts share one object."""
    return {name: Counts(**counts) for name, counts in json.loads(counts_text).items()}


class CountedFunction:
    """A function on a target, with its counts by every rule."""

    counts: Counted

    def by(self, rule: CountingRule) -> Counts | None:
        """Return the counts by a rule; None if the function has no verdict by the rule, because it never uses a
        device."""
        return self.counts.get(rule.name)

    def verdict_by(self, rule: CountingRule) -> str | None:
        counts = self.by(rule)
        return None if counts is None else counts.verdict

    @property
    def anywhere(self) -> Counts:
        return self.counts[ANYWHERE.name]

    @property
    def on_device(self) -> Counts | None:
        return self.by(ON_DEVICE)

    @property
    def unproven(self) -> int:
        """Cases that passed with unknown placement."""
        return self.on_device.unknown if self.on_device else 0
