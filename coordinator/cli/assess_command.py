"""``portolan assess`` compares a project's code with the results of campaigns; ``portolan evidence`` writes these
results to a file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from coordinator.assess import evidence_file, recordings
from coordinator.assess.callers import callers
from coordinator.assess.code import Code
from coordinator.assess.evidence import EvidenceSet, TargetEvidence, choose
from coordinator.assess.findings import Assessment
from coordinator.assess.findings import assess as assess_source
from coordinator.assess.formats.written import Format, write_report
from coordinator.assess.gate import Gate
from coordinator.assess.installed import installed_version
from coordinator.assess.mended import with_versions
from coordinator.assess.merging import extend, with_other_suites
from coordinator.assess.names import names_of
from coordinator.assess.reached import ExecutedLines, with_reached
from coordinator.assess.recorded_run import RecordedRun
from coordinator.assess.replayed import assess_replays, without_outcome
from coordinator.assess.report import AssessmentReport
from coordinator.assess.silencing import MARK, baseline_of, read_baseline, silence
from coordinator.assess.sites import AssessedSource
from coordinator.assess.sources import SUFFIXES, SourceReader, locate, nothing_read
from coordinator.assess.whole_run import WholeRun
from coordinator.cli.evidence_source import find_evidence
from coordinator.cli.output import require_folder, writing
from coordinator.cli.recorded_command import WHOLE_LIMIT_S, ReplayResult, record, replay, watch
from coordinator.cli.rest_client import Client
from coordinator.cli.shared_options import DataDir, Url, connect
from coordinator.cli.target_names import complaint_about
from coordinator.cli.unknown_functions import chart_unknown
from coordinator.configuration.variables import variables
from coordinator.errors import AssessmentError
from coordinator.figures.formats import plural
from coordinator.targets.selectors import Selector
from protocol.enums import HOST
from protocol.garbage import garbage_collection_paused
from protocol.host_only import load_host_only
from protocol.watched_run import WatchedRun

FOUND = 1
"""The exit code if there is a finding of a kind that --fail-on names."""


@dataclass(frozen=True)
class _Assessed:
    """An assessment, with its code and its evidence."""

    path: str
    place: Path
    """The folder, file or archive of the code."""
    target: TargetEvidence
    others: tuple[TargetEvidence, ...]
    origin: str
    installed: str | None
    source: AssessedSource
    assessment: Assessment
    run: RecordedRun | None = None


# Hundreds of thousands of objects stay until the report is written, and each search for cycles would visit all of them.
@garbage_collection_paused()
def assess(
    on: Annotated[
        str, typer.Option("--on", metavar="TARGET", help="The target, as a selector: torch/xla, torch@2.9/xla.")
    ],
    path: Annotated[
        str | None,
        typer.Argument(
            metavar="PATH",
            help="A folder, a .py file, a notebook, a wheel, an sdist, an installed package or a recording.",
        ),
    ] = None,
    run: Annotated[
        str | None,
        typer.Option(
            metavar="COMMAND", help="Instead of PATH: run this command on the CPU, record its calls and replay them."
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            help="A file of outcomes from `portolan evidence`, or `shipped` for the outcomes that ship with Portolan; "
            "default: the outcomes of your coordinator, or the shipped outcomes if there is no coordinator."
        ),
    ] = None,
    format: Annotated[Format, typer.Option(help="Output format.")] = "text",
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Output file.")] = None,
    is_full: Annotated[
        bool,
        typer.Option("--all", help="Also list notes, findings that only some arguments meet, and unknown functions."),
    ] = False,
    with_values: Annotated[
        bool,
        typer.Option(
            "--with-values", help="With --run: also record the values of floating-point arrays, not only their range."
        ),
    ] = False,
    is_whole: Annotated[
        bool,
        typer.Option(
            "--whole",
            help="With --run: also run the command on the target itself, for at most 30 minutes, and show the result "
            "beside the predictions.",
        ),
    ] = False,
    fail_on: Annotated[
        str | None,
        typer.Option(
            metavar="KINDS",
            help="Exit with code 1 if there are findings of these kinds, separated by commas: wrong, fails, accepts "
            "(returns a result where the CPU raises an error), falls-back, slow. `slow:20` counts calls as slow "
            "from a factor of 20 (default: 10).",
        ),
    ] = None,
    chart: Annotated[
        bool,
        typer.Option(
            "--chart",
            help="Test the unknown functions on your coordinator, wait for the outcomes, and then "
            "report. Needs a live "
            "runner of the target.",
        ),
    ] = False,
    coverage: Annotated[
        Path | None,
        typer.Option(
            help="Data of coverage.py (.coverage, or the file of `coverage json`): mark each call as reached or not "
            "reached."
        ),
    ] = None,
    baseline: Annotated[Path | None, typer.Option(help="Report only findings that this file does not list.")] = None,
    write_baseline: Annotated[Path | None, typer.Option(help="Write the current findings to this file.")] = None,
    url: Url = None,
    data_dir: DataDir = None,
) -> None:
    """Report which calls of your code fail, are wrong, fall back to the host or are slow on a target.

    The evidence comes from --data, otherwise from your coordinator. Without a coordinator, it is the evidence that
    ships with Portolan. With --run, your program's own calls are replayed, if the target's framework is set up on this
    machine.
    """
    gate = Gate() if fail_on is None else Gate.parse(fail_on)
    selector = Selector.parse(on)
    evidence = partial(find_evidence, data, url, data_dir, selector)
    recording = Path(path) if path is not None else None
    is_recording = recording is not None and recording.suffix == recordings.SUFFIX and recording.is_file()
    if (path is None) == (run is None):
        raise AssessmentError("name either the PATH of code or of a recording, or a command with --run")
    if is_whole and run is None:
        raise AssessmentError("--whole needs a command: give it with --run")
    if with_values and run is None:
        raise AssessmentError("--with-values needs a command: give it with --run")
    if (coverage or chart) and (run is not None or is_recording):
        raise AssessmentError("--coverage and --chart need source code: leave them out with --run or a recording")
    # This is checked before the command runs, which may take hours.
    baseline_content = baseline.read_bytes() if baseline else None
    for file in (output, write_baseline):
        require_folder(file)
    if run is not None:
        one = _one_target(selector)
        _require_name(one, evidence)
        recording = record(run, one.framework, one.device, with_values=with_values)
    if path is None or is_recording:
        assert recording is not None
        subject = _assess_run(recording, selector, evidence, gate.slow, data)
    else:
        subject = _assess_code(path, selector, evidence, gate.slow, coverage)
        if chart and subject.assessment.unknown:
            with connect(url, data_dir) as client:
                subject = _chart_and_assess(client, subject, selector, gate.slow)
    assessment, target = subject.assessment, subject.target
    if write_baseline is not None:
        with writing(write_baseline) as sink:
            sink.write(baseline_of(assessment, target.short).model_dump_json(indent=1).encode() + b"\n")
    known_findings = None if baseline_content is None else read_baseline(baseline_content, str(baseline), target.short)
    # The lines of all files take 100 MB for a large package. Only files with comments for Portolan are needed here.
    remaining = silence(assessment, Code(subject.place, MARK).line_with_end, known_findings)
    whole = watch(run, target.framework, target.device, WHOLE_LIMIT_S) if is_whole and run is not None else None
    report = AssessmentReport(
        path=subject.path,
        prefix=_prefix(subject.place),
        target=target,
        origin=subject.origin,
        installed=subject.installed,
        others=subject.others,
        source=subject.source,
        assessment=remaining.assessment,
        ignored=remaining.ignored,
        known=remaining.known,
        callers=callers(remaining.assessment, subject.source),
        run=subject.run,
        whole=_beside(whole, subject) if isinstance(whole, WatchedRun) else None,
        why_not_whole=whole if isinstance(whole, str) else None,
    )
    with writing(output) as sink:
        sink.write(write_report(report, format, Code(subject.place), whole=is_full))
    if gate.failing(remaining.assessment):
        raise typer.Exit(FOUND)


def _assess_code(
    path: str, selector: Selector, evidence: Callable[[], EvidenceSet], slow: float, coverage: Path | None
) -> _Assessed:
    """Read code, and compare it with evidence."""
    place = locate(path)
    with SourceReader(place) as reader:
        evidence_set = evidence()
        version = installed_version(selector.framework, Path(path), variables().virtual_env)
        choice = choose(evidence_set, selector, version)
        # The evidence about other frameworks is released before the code is linked.
        versions = tuple(target for target in evidence_set.targets if target.framework == choice.chosen.framework)
        evidence_set = replace(evidence_set, targets=versions)
        source = reader.read([choice.chosen.framework])
    if not source.files:
        raise AssessmentError(nothing_read(path, source))
    if coverage is not None:
        source = with_reached(source, ExecutedLines.read(coverage), place if place.is_dir() else place.parent)
    assessment = assess_source(source, choice.chosen, names_of(choice.chosen), slow, load_host_only())
    assessment = with_versions(assessment, choice.chosen, evidence_set.targets)
    return _Assessed(path, place, choice.chosen, choice.others, evidence_set.origin, version, source, assessment)


def _chart_and_assess(client: Client, code: _Assessed, selector: Selector, slow: float) -> _Assessed:
    """Let the coordinator chart the functions without evidence, and assess the code again."""
    chart_unknown(client, code.assessment.unknown, selector)
    target = extend(code.target, client.evidence(str(selector)).targets)
    assessment = assess_source(code.source, target, names_of(target), slow, load_host_only())
    return replace(code, target=target, assessment=assessment)


def _assess_run(
    file: Path, selector: Selector, evidence: Callable[[], EvidenceSet], slow: float, data: Path | None
) -> _Assessed:
    """Replay the calls of a recording. If they cannot be replayed, compare them with ``evidence``."""
    recording = recordings.read_recording(file.read_bytes(), str(file))
    selector = _one_target(selector)
    if recording.framework != selector.framework:
        raise AssessmentError(
            f"{file} is a recording of {recording.framework}, not of {selector.framework}: "
            f"name a target of {recording.framework} with --on"
        )
    source, place = recordings.source_of(recording), Path(recording.folder)
    place = place if place.is_dir() else Path.cwd()
    replays = (
        ReplayResult(None, "--data was given, so the calls are compared with its evidence")
        if data
        else replay(file, selector.framework, selector.device)
    )
    if replays.evidence is not None:
        target = replays.evidence
        run = RecordedRun(recording, target, without_outcome=without_outcome(recording, target))
        assessment = assess_replays(recording, target, slow)
        return _Assessed(
            str(file), place, target, (), "its own calls, replayed here", recording.version, source, assessment, run
        )
    evidence_set = evidence()
    choice = choose(evidence_set, selector, recording.version)
    assessment = assess_source(source, choice.chosen, names_of(choice.chosen), slow, load_host_only())
    run = RecordedRun(recording, None, replays.why_not)
    return _Assessed(
        str(file), place, choice.chosen, choice.others, evidence_set.origin, recording.version, source, assessment, run
    )


def _beside(run: WatchedRun, code: _Assessed) -> WholeRun:
    """The result of running the whole command, together with all predictions about its code, including silenced
    ones."""
    assert code.run is not None
    return WholeRun(run, code.assessment.findings, code.run.recording.seconds)


def _one_target(selector: Selector) -> Selector:
    """Return the selector if it names one framework and one device, otherwise raise ``AssessmentError``, because calls
    can be replayed on only one target.
    """
    if "*" in f"{selector.framework}{selector.device}":
        raise AssessmentError(f"--on {selector} is not one target: name one, such as torch/xla")
    return selector


def _require_name(selector: Selector, evidence: Callable[[], EvidenceSet]) -> None:
    """Raise ``AssessmentError`` if neither the runners nor the evidence have a target with this name, or if it is the
    host."""
    if selector.device == HOST or complaint_about([f"{selector.framework}/{selector.device}"]) is not None:
        choose(evidence(), selector, None)


def write_evidence(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Output file; compressed if its name ends in .gz.")],
    bundles: Annotated[list[Path] | None, typer.Argument(metavar="BUNDLE…", help="Files of `portolan-runner`.")] = None,
    on: Annotated[str, typer.Option("--on", metavar="TARGET", help="Only these targets of the coordinator.")] = "*/*",
    data: Annotated[
        Path | None,
        typer.Option(
            help="An older file to start from. A bundle replaces the file's evidence about the same suite and "
            "target; the rest is kept."
        ),
    ] = None,
    url: Url = None,
    data_dir: DataDir = None,
) -> None:
    """Write the evidence about each function on each target to a file, from bundles or from a coordinator."""
    if data is not None and not bundles:
        raise AssessmentError("--data needs bundles: name those whose evidence replaces the older evidence of the file")
    if bundles:
        # Imported here, because it imports the code that reads bundles and stores outcomes, which an assessment does
        # not need.
        from coordinator.assess.bundled import from_bundles

        evidence = EvidenceSet(_with_older(from_bundles(bundles), data), "bundles")
    else:
        with connect(url, data_dir) as client:
            evidence = client.evidence(on)
    if not evidence.targets:
        raise AssessmentError(
            "there is no evidence to write, because all evidence is for the CPU: name evidence of another device"
        )
    made_at = max(target.charted_at for target in evidence.targets)
    content = evidence_file.compress(evidence.targets, made_at)
    with writing(file) as sink:
        sink.write(content if file.suffix == ".gz" else evidence_file.document_of(evidence.targets, made_at))
    for target in evidence.targets:
        cases = sum(map(len, target.functions.values()))
        functions = plural(len(target.functions), "function")
        print(f"{target.target} on {target.hardware}: {functions}, {plural(cases, 'case')}")
    if bundles:
        print("signatures of bundles were not checked")


def _with_older(targets: tuple[TargetEvidence, ...], data: Path | None) -> tuple[TargetEvidence, ...]:
    """The evidence, and what an older file has about other suites and targets."""
    if data is None:
        return targets
    return with_other_suites(targets, evidence_file.read(data.read_bytes(), str(data), f"from {data}").targets)


def _prefix(place: Path) -> str:
    """The path from the working directory to the folder or archive from which the paths of call sites begin; empty if
    this folder or archive is outside of the working directory.
    """
    folder = place.parent if place.is_file() and place.suffix in SUFFIXES else place
    try:
        within = folder.resolve().relative_to(Path.cwd())
    except ValueError:
        return ""
    return "" if within == Path() else f"{within.as_posix()}/"
