"""A report as text for a terminal, 80 columns wide. This module does no I/O."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from coordinator.assess.findings import Finding
from coordinator.assess.recorded_run import WAYS, RecordedRun
from coordinator.assess.report import AssessmentReport, kind_sentence
from coordinator.assess.sites import Certainty, Site, UnreadFile
from coordinator.assess.verdicts import Kind, Weight
from coordinator.figures.formats import join_words, plural

WIDTH = 80
SHOWN_PLACES = 3
SHOWN_PATHS = 3
SHOWN_CONDITIONS = 15
SHOWN_CALLERS = 5
SHOWN_QUESTIONS = 5
SHOWN_UNKNOWN = 8
SHOWN_LINES = 8
LABELS = {Kind.wrong: "WRONG", Kind.fails: "FAILS", Kind.accepts: "TAKES", Kind.falls_back: "HOST", Kind.slow: "SLOW"}


def text_of(report: AssessmentReport, *, whole: bool = False) -> str:
    """The report as text. ``whole`` lists all notes, conditions and unknown functions."""
    return "\n".join(_lines(report, whole)) + "\n"


def _lines(report: AssessmentReport, whole: bool) -> Iterator[str]:
    yield from _wrap(report.first_line)
    yield from _wrap(f"{report.evidence_line}.", hanging="  ")
    if report.version_warning:
        yield from _wrap(report.version_warning)
    for sentence in report.target.sentences:
        yield from _wrap(f"  {sentence}.", hanging="  ")
    if report.others:
        others = join_words([f"{other.target} on {other.hardware}" for other in report.others], 3)
        yield from _wrap(f"  Also charted, and not used here: {others}.", hanging="  ")
    yield from _wrap(f"{'Run' if report.run else 'Code'}: {report.charted_line}.", hanging="  ")
    for finding in report.assessment.of_weight(Weight.finding):
        yield ""
        yield from _finding(finding, report)
    if report.run is not None:
        yield from _run(report.run, whole)
    yield from _whole_run(report)
    yield from _conditions(report, whole)
    yield from _notes(report, whole)
    yield from _callers(report)
    yield from _around(report, whole)


def _finding(finding: Finding, report: AssessmentReport) -> Iterator[str]:
    verdict = finding.verdict
    marks = [plural(len(finding.places), "place")]
    if verdict.charted_as != verdict.function:
        marks.append(f"charted as {verdict.charted_as}")
    if report.has_shipped(verdict):
        marks.append("by evidence that ships with Portolan")
    if finding.is_guarded:
        marks.append(f"only under {_guards(finding)}")
    if finding.is_unreached:
        marks.append("not reached")
    if finding.is_guessed:
        marks.append("guessed from the method's name alone")
    yield from _wrap(f"{LABELS[verdict.kind]:<6}{verdict.function} ({', '.join(marks)})", hanging=" " * 6)
    yield from _indent(f"{kind_sentence(finding)}; {verdict.judges}" if verdict.judges else kind_sentence(finding))
    if verdict.said and verdict.kind is not Kind.slow:
        yield from _indent(f"{', '.join(verdict.causes)}: {verdict.said}" if verdict.causes else verdict.said)
    for advice in verdict.advice:
        yield from _indent(advice)
    yield from _indent(_places(finding.places, report))
    # A command is not wrapped, so that it can be copied.
    yield f"      $ {report.repeat(verdict)}"


def _conditions(report: AssessmentReport, whole: bool) -> Iterator[str]:
    findings = report.assessment.of_weight(Weight.condition)
    if not findings:
        return
    yield ""
    yield from _wrap("It depends on something that the source does not show:")
    for finding in _some(findings, SHOWN_CONDITIONS, whole):
        verdict = finding.verdict
        guard = f", only under {_guards(finding)}" if finding.is_guarded else ""
        guard += ", not reached" if finding.is_unreached else ""
        yield from _wrap(
            f"{LABELS[verdict.kind]:<6}{verdict.function} ({plural(len(finding.places), 'place')}{guard}) "
            f"{kind_sentence(finding)} [{report.place(finding.places[0])}]",
            hanging=" " * 6,
        )
        for advice in verdict.advice:
            yield from _indent(advice)
    yield from _more(len(findings), SHOWN_CONDITIONS, whole)


def _notes(report: AssessmentReport, whole: bool) -> Iterator[str]:
    findings = report.assessment.of_weight(Weight.note)
    if not findings:
        return
    yield ""
    if not whole:
        reasons = Counter(finding.verdict.why_note for finding in findings)
        places = sum(len(finding.places) for finding in findings)
        counts = "; ".join(f"{count}: {reason}" for reason, count in reasons.most_common())
        yield from _wrap(f"{plural(len(findings), 'note')} at {plural(places, 'place')} (--all lists them): {counts}.")
        return
    yield "Notes, which are too weak to act on:"
    for finding in findings:
        verdict = finding.verdict
        yield from _wrap(
            f"{LABELS[verdict.kind]:<6}{verdict.function} ({plural(len(finding.places), 'place')}) "
            f"{kind_sentence(finding)}; {verdict.why_note} [{report.place(finding.places[0])}]",
            hanging=" " * 6,
        )


def _run(run: RecordedRun, whole: bool) -> Iterator[str]:
    """The lines about a recorded command: where it moves values, where it takes most time, and the limits of the
    replay."""
    if run.crossings:
        yield ""
        counts = " and ".join(f"{count:,} times {WAYS[way]}" for way, count in run.crossed.items())
        yield from _wrap(f"Values cross {counts}:")
        for crossing in run.crossings if whole else run.crossings[:SHOWN_LINES]:
            yield f"  {crossing.count:>7,}  {crossing.words}  {crossing.function}  {crossing.place}"
        yield from _more(len(run.crossings), SHOWN_LINES, whole)
    if run.times:
        yield ""
        yield "Share of the time of these calls, on the target and on the CPU:"
        for time in run.times if whole else run.times[:SHOWN_LINES]:
            yield f"  {time.on_target:>5.0%}  {time.on_host:>5.0%}  {time.place}"
        yield from _more(len(run.times), SHOWN_LINES, whole)
    yield ""
    yield f"┌{'─' * (WIDTH - 2)}┐"
    for clause in ("What this cannot know:", *(f"- {clause}" for clause in run.unknowable)):
        for line in textwrap.wrap(clause, WIDTH - 4, subsequent_indent="  ", break_on_hyphens=False):
            yield f"│ {line:<{WIDTH - 4}} │"
    yield f"└{'─' * (WIDTH - 2)}┘"


def _whole_run(report: AssessmentReport) -> Iterator[str]:
    """The lines about the run of the command on the target itself, compared with the predictions."""
    if report.why_not_whole is not None:
        yield ""
        yield from _wrap(f"The whole command could not be run on {report.target.short}: {report.why_not_whole}.")
    if report.whole is None:
        return
    yield ""
    yield from _wrap(f"The whole command on {report.target.short}: {report.whole.ended_line}.")
    for event in report.whole.events:
        mark = "predicted" if event.is_predicted else "not predicted"
        yield from _wrap(f"  {LABELS[event.kind]:<6}{event.function} ({mark}): {event.said}", hanging=" " * 8)
        yield from _indent(f"at {join_words(list(event.places), SHOWN_PLACES)}")
    for prediction in report.whole.unmet:
        yield from _wrap(
            f"  {LABELS[prediction.kind]:<6}{prediction.function} (predicted, did not happen) [{prediction.place}]",
            hanging=" " * 8,
        )
    yield from _wrap(f"{report.whole.score_line[:1].upper()}{report.whole.score_line[1:]}.")
    for note in report.whole.run.notes:
        yield from _wrap(note)


def _callers(report: AssessmentReport) -> Iterator[str]:
    further = [caller for caller in report.callers if len(caller.path) > 1]
    if not further:
        return
    yield ""
    verb = "reaches" if len(further) == 1 else "reach"
    yield from _wrap(
        f"{plural(len(further), 'function')} of this code {verb} a finding through a function that they call:"
    )
    for caller in further[:SHOWN_CALLERS]:
        names = join_words([verdict.function for verdict in caller.verdicts], 3)
        yield from _wrap(f"  {' > '.join(caller.path)}: {names}", hanging="      ")
    yield from _more(len(further), SHOWN_CALLERS, False, "--format json has all")


def _around(report: AssessmentReport, whole: bool) -> Iterator[str]:
    """The lines about the context of the findings: unknown functions, device questions, unread files, silenced
    sites."""
    source, unknown = report.source, report.assessment.unknown
    yield ""
    if unknown:
        names = [f"{name} ({count})" if count > 1 else name for name, count in unknown.items()]
        leading_names = names if whole else names[:SHOWN_UNKNOWN]
        rest = f" and {len(names) - len(leading_names)} more" if len(leading_names) < len(names) else ""
        yield from _wrap(f"Unknown, because nobody charted them: {', '.join(leading_names)}{rest}.", hanging="  ")
        if report.chart_command:
            yield from _wrap("To chart them with a coordinator that has a runner of this target:", hanging="  ")
            yield f"  $ {report.chart_command}"
    if source.device_questions:
        questions = source.device_questions
        yield from _wrap(
            f"The code tests the device at {plural(len(questions), 'place')}, so it may take another branch on the "
            "target:"
        )
        for question in questions if whole else questions[:SHOWN_QUESTIONS]:
            yield f"  {report.prefix}{question.path}:{question.line}: {question.text}"[:WIDTH]
        yield from _more(len(questions), SHOWN_QUESTIONS, whole)
    if reads := source.host_reads:
        yield from _wrap(
            f"Values are read on the host at {plural(len(reads), 'place')}, where the program waits for the device:"
        )
        for site in reads if whole else reads[:SHOWN_QUESTIONS]:
            yield f"  {_place(site, report)}: {site.function}"[:WIDTH]
        yield from _more(len(reads), SHOWN_QUESTIONS, whole)
    if source.unread:
        paths_by_reason = _unread_paths(source.unread)
        most = None if whole else SHOWN_PATHS
        reasons = "; ".join(
            f"{len(paths)} {reason}: {join_words(paths, most)}" for reason, paths in paths_by_reason.items()
        )
        yield from _wrap(f"Not read: {plural(len(source.unread), 'file')} ({reasons}).", hanging="  ")
    if source.star_imports:
        yield from _wrap(f"{plural(source.star_imports, 'import')} of everything (*) may hide uses.")
    if count := source.dynamic_names:
        yield from _wrap(f"{plural(count, 'name')} made at run time (getattr, eval) may hide uses.")
    if report.ignored or report.known:
        yield from _wrap(f"Silenced: {plural(report.ignored, 'place')} by comments, {report.known:,} by the baseline.")


def _unread_paths(files: Sequence[UnreadFile]) -> Mapping[str, Sequence[str]]:
    """The paths of unread files by reason, the most frequent reason first."""
    paths: dict[str, list[str]] = {}
    for file in files:
        paths.setdefault(file.reason, []).append(file.path)
    return dict(sorted(paths.items(), key=lambda item: -len(item[1])))


def _guards(finding: Finding) -> str:
    texts = dict.fromkeys(guard.text for site in finding.places for guard in site.guards)
    return join_words([f"`{text}`" for text in texts], 2)


def _places(sites: Sequence[Site], report: AssessmentReport) -> str:
    return f"at {join_words(list(dict.fromkeys(_place(site, report) for site in sites)), SHOWN_PLACES)}"


def _place(site: Site, report: AssessmentReport) -> str:
    guard = f" (under `{site.guards[0].text}`)" if site.guards else ""
    guess = "?" if site.certainty is Certainty.guessed else ""
    coverage = "" if site.reached is None else " (reached)" if site.reached else " (not reached)"
    return f"{report.place(site)}{guess}{coverage}{guard}"


def _some(findings: Sequence[Finding], most: int, whole: bool) -> Iterable[Finding]:
    return findings if whole else findings[:most]


def _more(count: int, most: int, whole: bool, how: str = "--all lists them") -> Iterator[str]:
    if count > most and not whole:
        yield f"  … and {count - most:,} more: {how}"


def _wrap(text: str, hanging: str = "") -> list[str]:
    return textwrap.wrap(text, WIDTH, subsequent_indent=hanging, break_long_words=False, break_on_hyphens=False)


def _indent(text: str) -> list[str]:
    return textwrap.wrap(
        text, WIDTH, initial_indent=" " * 6, subsequent_indent=" " * 6, break_long_words=False, break_on_hyphens=False
    )
