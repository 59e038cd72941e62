"""The gate: the kinds of findings for which an assessment ends with exit code 1. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from coordinator.assess.findings import Assessment, Finding
from coordinator.assess.verdicts import SLOW, Kind
from coordinator.errors import AssessmentError
from protocol.function_names import did_you_mean


@dataclass(frozen=True)
class Gate:
    """The kinds of findings that the option names: ``wrong,fails,slow:20``."""

    kinds: frozenset[Kind] = frozenset()
    slow: float = SLOW

    @classmethod
    def parse(cls, text: str) -> Gate:
        """Parse the option. Raises ``AssessmentError`` for an unknown kind or an invalid number."""
        kinds, slow = set[Kind](), SLOW
        for word in filter(None, (part.strip() for part in text.split(","))):
            name, has_number, number = word.partition(":")
            if name not in list(Kind) or (has_number and name != Kind.slow):
                raise AssessmentError(
                    f"--fail-on {word} is not a kind of finding{did_you_mean(name, [*Kind]) or ';'} "
                    f"write some of {', '.join(Kind)}, the last perhaps with a number, as in slow:20"
                )
            kinds.add(Kind(name))
            if has_number:
                slow = _times(word, number)
        return cls(frozenset(kinds), slow)

    def failing(self, assessment: Assessment) -> tuple[Finding, ...]:
        """The findings that fail the check. Sites under a condition and uncharted functions never fail it.

        Calls that are silently accepted never fail it either: the source does not show whether a call has arguments
        that the host rejects, so this kind has only conditions.
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
