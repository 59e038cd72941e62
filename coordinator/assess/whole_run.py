"""The whole run: a run of the command on the target itself, compared with the predictions from the replay of its calls.
This module does no I/O."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from coordinator.assess.findings import Finding
from coordinator.assess.recorded_run import place_of
from coordinator.assess.verdicts import Kind
from protocol.watched_run import WatchedEvent, WatchedRun

KINDS: Mapping[str, Kind] = {"raised": Kind.fails, "fell_back": Kind.falls_back}
"""For each kind of event in a whole run, the kind of the findings that predict it. A whole run shows neither wrong
values nor times."""
BACKWARD = "torch.Tensor.backward"
"""The function that represents everything that a program computes backward in a whole run."""


@dataclass(frozen=True)
class WholeEvent:
    """A function that fell back or raised an error in the whole run."""

    function: str
    kind: Kind
    said: str
    places: tuple[str, ...]
    is_predicted: bool


@dataclass(frozen=True)
class UnmetPrediction:
    """A predicted fallback or failure that the whole run did not show."""

    function: str
    kind: Kind
    place: str


@dataclass(frozen=True)
class WholeRun:
    """A whole run of a command, compared with the findings of its recording."""

    run: WatchedRun
    findings: tuple[Finding, ...]
    host_seconds: float
    """The seconds that the same command took on the CPU, under the recorder."""

    @cached_property
    def predicted(self) -> Mapping[tuple[str, Kind], Finding]:
        """The findings that a whole run can show, by function and kind."""
        kinds = KINDS.values()
        findings = (finding for finding in self.findings if finding.verdict.kind in kinds)
        return {(finding.verdict.function, finding.verdict.kind): finding for finding in findings}

    @cached_property
    def events(self) -> tuple[WholeEvent, ...]:
        """The events in order of occurrence, one per function and kind."""
        by_key: dict[tuple[str, Kind], list[WatchedEvent]] = {}
        for event in self.run.events:
            by_key.setdefault((event.function, KINDS[event.kind]), []).append(event)
        return tuple(
            WholeEvent(
                function,
                kind,
                events[0].said,
                _places(events),
                any(_is_shown(finding, function, kind) for finding in self.predicted.values()),
            )
            for (function, kind), events in by_key.items()
        )

    @cached_property
    def unmet(self) -> tuple[UnmetPrediction, ...]:
        """The predictions that the run did not confirm."""
        return tuple(
            UnmetPrediction(*key, f"{finding.places[0].path}:{finding.places[0].line}")
            for key, finding in self.predicted.items()
            if not any(_is_shown(finding, event.function, event.kind) for event in self.events)
        )

    @property
    def ended_line(self) -> str:
        """How the run ended: ``It ended with exit code 0 after 12.3 s; on the CPU it took 3.1 s under the
        recorder``."""
        code = self.run.exit_code
        if code is None:
            ending = "was killed"
        elif code < 0:
            ending = f"ended with signal {-code}"
        else:
            ending = f"ended with exit code {code}"
        return (
            f"it {ending} after {self.run.seconds:.1f} s; on the CPU it took {self.host_seconds:.1f} s while recorded"
        )

    @property
    def score_line(self) -> str:
        """The predictions compared with the run: ``predicted fallbacks and errors: 3 of 3; predictions that came true:
        3 of 4``."""
        events, findings = self.events, self.predicted
        predicted_count = sum(event.is_predicted for event in events)
        line = (
            f"predicted fallbacks and errors: {predicted_count} of {len(events)}; "
            f"predictions that came true: {len(findings) - len(self.unmet)} of {len(findings)}"
        )
        return line if self.run.exit_code == 0 else f"{line} (the others may concern calls after the early end)"


def _is_shown(finding: Finding, function: str, kind: Kind) -> bool:
    """Whether the run showed what a finding predicts. An event of the backward pass confirms a finding about a call's
    gradient."""
    verdict = finding.verdict
    is_own = verdict.function == function or (function == BACKWARD and verdict.backward)
    return is_own and verdict.kind is kind


def _places(events: Iterable[WatchedEvent]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(place_of(site) for event in events for site in event.sites))
