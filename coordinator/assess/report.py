"""The report of an assessment: the content that all formats show, computed once. This module does no I/O."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from coordinator.assess.callers import CallingFunction
from coordinator.assess.evidence import TargetEvidence
from coordinator.assess.findings import Assessment, Finding
from coordinator.assess.recorded_run import RecordedRun
from coordinator.assess.sites import AssessedSource, Site
from coordinator.assess.verdicts import Kind, SiteVerdict
from coordinator.assess.whole_run import WholeRun
from coordinator.catalogue.usage.sources import LINK
from coordinator.figures.formats import join_words, plural
from coordinator.results.conditions import accepted_sentence
from protocol.enums import Cause

MOST_CHARTED = 20
"""The maximum number of unknown functions in the command that charts them."""
FIRST_NAMES = 3
"""The maximum number of functions that the first line names for each kind."""
VERBS = {
    Kind.wrong: ("gives wrong values without an error", "give wrong values without an error"),
    Kind.fails: ("fails", "fail"),
    Kind.accepts: ("silently accepts what the host refuses", "silently accept what the host refuses"),
    Kind.falls_back: ("silently runs on the host", "silently run on the host"),
    Kind.slow: ("is slow", "are slow"),
}
"""The verbs of each kind, for one and for several functions."""
NO_LOWERING = ("has no lowering", "have no lowering")
"""The verbs for failures on a target that only lowers programs."""


@dataclass(frozen=True)
class AssessmentReport:
    """The content of a report: an assessment, and what the report shows about the code, the target and the evidence."""

    path: str
    """The path of the assessed code, as the user wrote it."""
    prefix: str
    """The prefix that makes a site's path relative to the working directory, such as ``src/``. Empty if the code is
    elsewhere."""
    target: TargetEvidence
    origin: str
    installed: str | None
    """The version of the framework in the code's environment; None if no version was found."""
    others: tuple[TargetEvidence, ...]
    """Other targets that match the selector. Their evidence was not used."""
    source: AssessedSource
    assessment: Assessment
    ignored: int
    known: int
    callers: tuple[CallingFunction, ...]
    run: RecordedRun | None = None
    """The recorded run; None if the code was read instead."""
    whole: WholeRun | None = None
    """The run of the same command on the target itself; None if it was not requested or not possible."""
    why_not_whole: str | None = None
    """The reason why a requested whole run was not possible; None if it was possible or not requested."""

    @property
    def first_line(self) -> str:
        """The main result in one sentence."""
        serious = self.assessment.serious
        where = f"On {self.target.short}"
        if self.version_warning:
            where += f" (charted for {self.target.version}, while {self._program_version})"
        if serious:
            return f"{where} this code calls {self._kinds_of(serious)}."
        if not self.assessment.charted and not self.assessment.unknown:
            nothing = "nothing is known" if self._hidden_uses else "nothing can go wrong"
            return (
                f"{where} {nothing}: this code uses no function of {self.target.framework}"
                f"{self._hidden_uses}{self._not_seen}."
            )
        if not self.assessment.charted:
            return f"{where} nothing is known: none of the functions that this code uses is charted."
        if conditional := self.assessment.conditional:
            calls = self._kinds_of(conditional)
            return f"{where} this code may go wrong, depending on what its source does not show: it calls {calls}."
        functions = len(self.assessment.charted) + len(self.assessment.unknown)
        charted_functions = len(self.assessment.charted)
        return (
            f"{where} nothing that this code calls is known to go wrong: {charted_functions} of its "
            f"{plural(functions, 'function')} {_be(charted_functions)} charted{self._not_seen}."
        )

    @property
    def _hidden_uses(self) -> str:
        """A clause about other frameworks that the code imports, or about names that hide uses; empty if there are
        none."""
        others = sorted(self.source.frameworks - {self.target.framework})
        if others:
            return f", but imports {join_words(others)} (name its target with --on)"
        hiding = self.source.star_imports + self.source.dynamic_names
        if hiding and self.target.framework in self.source.frameworks:
            return f" by a plain name, but has {plural(hiding, 'name')} that may hide uses"
        return ""

    @property
    def _not_seen(self) -> str:
        """A clause at the end of a sentence that reports no findings. It says that some of the code was not read, or
        that the command ended early; empty if neither is true.

        A symbolic link is not counted as a file that was not read, because it leads to other code.
        """
        if self.run is not None:
            return self.run.early_end
        count = sum(file.reason != LINK for file in self.source.unread)
        return f"; {plural(count, 'file')} {'was' if count == 1 else 'were'} not read" if count else ""

    @property
    def version_warning(self) -> str | None:
        """A warning that the evidence is about another version than the installed one; None if the versions are equal
        or no version is installed."""
        if self.installed is None or self.installed.partition("+")[0] == self.target.version.partition("+")[0]:
            return None
        here = " here" if self.run is None else ""
        return (
            f"{self.target.framework} {self._program_version}{here}, but the evidence is for {self.target.version}: "
            "results may differ."
        )

    @property
    def _program_version(self) -> str:
        """The version with which the program runs, in words. A recording may come from another machine."""
        return f"{self.installed} is installed" if self.run is None else f"{self.installed} made the recording"

    @property
    def evidence_line(self) -> str:
        """The source and the date of the evidence in one line: ``Evidence (ships with Portolan): torch 2.9.0 on xla
        (AMD EPYC), charted on 2026-11-28, suites library and paper``."""
        target = self.target
        return (
            f"Evidence ({self.whole_origin}): {target.framework} {target.version} on {target.device} "
            f"({target.hardware}), charted on {day(target.charted_at)}, "
            f"{'suites' if len(target.suites) > 1 else 'suite'} {join_words(target.suites)}"
        )

    @property
    def whole_origin(self) -> str:
        """The source of the evidence in words. If only a part of the evidence ships with Portolan, the number of
        functions from each source."""
        target, shipped_names = self.target, self.target.shipped_functions
        if not shipped_names:
            return self.origin
        charted_at = max(map(target.function_charted_at, shipped_names))
        return (
            f"{plural(len(target.functions) - len(shipped_names), 'function')} {self.origin}, and "
            f"{len(shipped_names):,} that ship with Portolan (charted by {day(charted_at)})"
        )

    def has_shipped(self, verdict: SiteVerdict) -> bool:
        """Whether a verdict is based on shipped evidence while the report also uses other evidence."""
        return verdict.charted_as in self.target.shipped_functions

    @property
    def charted_line(self) -> str:
        """A sentence about the uses of functions in the code, or about the calls of the run, with the number for which
        there is evidence."""
        if self.run is not None:
            return f"`{self.run.command}`: {self.run.called_line}"
        charted_uses, unknown_uses = self.assessment.charted, self.assessment.unknown
        functions = len(charted_uses) + len(unknown_uses)
        uses = sum(charted_uses.values()) + sum(unknown_uses.values())
        return (
            f"{plural(self.source.files, 'file')}, {plural(uses, 'use')} of "
            f"{plural(functions, 'function')}: {len(charted_uses)} {_be(len(charted_uses))} charted, "
            f"{len(unknown_uses)} unknown"
            + (f"; {plural(self.assessment.host_only, 'use')} of the host alone" if self.assessment.host_only else "")
        )

    def repeat(self, verdict: SiteVerdict) -> str:
        """The command that repeats the evidence of a verdict."""
        return self.target.repeat(verdict.case, verdict.chart)

    def place(self, site: Site) -> str:
        """The path and line of a site: ``src/train.py:34``."""
        return f"{self.prefix}{site.path}:{site.line}"

    def _kinds_of(self, findings: Sequence[Finding]) -> str:
        return join_words([self._of_kind(kind, findings) for kind in _kinds(findings)])

    def _of_kind(self, kind: Kind, findings: Sequence[Finding]) -> str:
        """The functions of a kind in words: ``2 functions that fail (torch.a at train.py:3, torch.b)``."""
        first_places: dict[str, str] = {}
        for finding in findings:
            if finding.verdict.kind is kind:
                first_places.setdefault(finding.verdict.function, self.place(finding.places[0]))
        names = [f"{name} at {at}" for name, at in list(first_places.items())[:1]]
        names += list(first_places)[1:FIRST_NAMES]
        more = len(first_places) - len(names)
        if more:
            names.append(f"{more} more")
        verbs = NO_LOWERING if self.target.is_lowered and kind is Kind.fails else VERBS[kind]
        verb = verbs[len(first_places) > 1]
        return f"{plural(len(first_places), 'function')} that {verb} ({', '.join(names)})"

    @property
    def chart_command(self) -> str | None:
        """The command that charts the unknown functions, the most used first; None if there are none."""
        unknown = list(self.assessment.unknown)
        if not unknown or (self.run and self.run.replays):
            return None
        functions = shlex.quote(" ".join(unknown[:MOST_CHARTED]))
        return f"portolan submit --suite library --targets {self.target.short} --functions {functions}"


def _be(count: int) -> str:
    return "is" if count == 1 else "are"


def day(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d}"


def kind_sentence(finding: Finding) -> str:
    """The verdict in words, with its condition: ``fails in 12 of 12 usual cases``."""
    verdict = finding.verdict
    match verdict.kind:
        case Kind.slow:
            return f"takes {verdict.said} ({plural(verdict.of, 'timed case')})"
        case Kind.accepts:
            return accepted_sentence(verdict.failing)
        case Kind.wrong:
            verb = "gives wrong values without an error"
        case Kind.fails:
            verb = NO_LOWERING[0] if verdict.causes == (str(Cause.not_lowered),) else "fails"
        case Kind.falls_back:
            verb = "runs on the host"
    where = f": {verdict.condition}" if verdict.condition else ""
    also = ", and so does the backward pass" if verdict.backward and not verdict.is_of_backward_pass else ""
    return f"{verb} in {verdict.failing} of {verdict.of} {verdict.basis}{also}{where}"


def _kinds(findings: Sequence[Finding]) -> list[Kind]:
    there = {finding.verdict.kind for finding in findings}
    return [kind for kind in Kind if kind in there]
