"""The gate: the kinds of findings for which an assessment ends with exit code 1. This module does no I/O."""

from __future__ import annotations

from dataclasses import dataclass

from coordinator.assess.findings import Assessment, Finding
from coordinator.assess.verdicts import SLOW, Kind
from coordinator.errors import AssessmentError
from protocol.function_names import did_you_mean


@dataclass(frozen=True)
class Gate:
    """The kinds of findings in the value of ``--fail-on``, such as ``wrong,fails,slow:20``, and the factor of
    ``slow``."""

    kinds: frozenset[Kind] = frozenset()
    slow: float = SLOW

    @classmethod
    def parse(cls, text: str) -> Gate:
        """Parse the value of ``--fail-on``. Raises ``AssessmentError`` if there is no kind, for an unknown kind
        and for an invalid number."""
        kinds, slow = set[Kind](), SLOW
        for word in filter(None, (part.strip() for part in text.split(","))):
            name, has_number, number = word.partition(":")
            if name not in list(Kind) or (has_number and name != Kind.slow):
                raise AssessmentError(
                    f"--fail-on {word} is not a kind of finding{did_you_mean(name, [*Kind]) or ';'} "
                    f"choose from {', '.join(Kind)}; slow can have a factor, as in slow:20"
                )
            kinds.add(Kind(name))
            if has_number:
                slow = _times(word, number)
        if not kinds:
            raise AssessmentError(f"--fail-on {text!r} names no kind: choose from {', '.join(Kind)}")
        return cls(frozenset(kinds), slow)

    def failing(self, assessment: Assessment) -> tuple[Finding, ...]:
        """The findings for which the assessment ends with exit code 1.

        They never include sites under a condition, uncharted functions and silently accepted calls. For silently
        accepted calls there are only conditions, because the source does not show whether a call has arguments that the
        host rejects.
        """
        accepting = (finding for finding in assessment.conditional if finding.verdict.kind is Kind.accepts)
        return tuple(finding for finding in (*assessment.serious, *accepting) if finding.verdict.kind in self.kinds)


def _times(word: str, number: str) -> float:
    try:
        value = float(number)
    except ValueError:
        value = 0.0
    if not 1 <= value < float("inf"):
        raise AssessmentError(f"--fail-on {word}: give a factor of 1 or more, as in slow:20")
    return value
