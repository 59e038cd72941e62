"""``portolan assess``: a project's code set against what campaigns found; ``portolan evidence``: a file of that."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from coordinator.assess import evidence_file
from coordinator.assess.bundled import from_bundles
from coordinator.assess.callers import callers
from coordinator.assess.code import Code
from coordinator.assess.evidence import Evidence, choose
from coordinator.assess.findings import assess as assess_source
from coordinator.assess.formats.written import Format, written
from coordinator.assess.gate import Gate
from coordinator.assess.installed import installed_version
from coordinator.assess.merging import extended
from coordinator.assess.names import names_of
from coordinator.assess.reached import Coverage, with_reached
from coordinator.assess.report import Report
from coordinator.assess.silencing import baseline_of, read_baseline, silence
from coordinator.assess.sources import located, read_sources
from coordinator.cli.evidence_source import find_evidence
from coordinator.cli.output import writing
from coordinator.cli.shared_options import DataDir, Url, connect
from coordinator.cli.unknown_functions import chart_unknown
from coordinator.errors import AssessmentError
from coordinator.formats import plural
from coordinator.targets.selectors import Selector
from coordinator.variables import variables
from protocol.host_only import declared

FOUND = 1
"""Exit code if there is a finding for which it is to fail."""


def assess(
    path: Annotated[str, typer.Argument(metavar="PATH", help="A folder, a file, a notebook, an archive or a package.")],
    on: Annotated[str, typer.Option("--on", metavar="TARGET", help="Where it is to run, such as torch/xla.")],
    data: Annotated[Path | None, typer.Option(help="A file of evidence, as `portolan evidence` writes it.")] = None,
    format: Annotated[Format, typer.Option(help="text is for a terminal.")] = "text",
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write to this file.")] = None,
    whole: Annotated[bool, typer.Option("--all", help="List notes and unknown functions to the last.")] = False,
    fail_on: Annotated[
        str, typer.Option(metavar="KINDS", help="End with 1 if there is such: wrong,fails,falls-back,slow:10.")
    ] = "",
    chart: Annotated[
        bool, typer.Option("--chart", help="Let your coordinator chart what is unknown, wait, and report then.")
    ] = False,
    coverage: Annotated[
        Path | None, typer.Option(help="Data of coverage.py: says which places a program has reached.")
    ] = None,
    baseline: Annotated[Path | None, typer.Option(help="Leave out the findings that this file has.")] = None,
    write_baseline: Annotated[Path | None, typer.Option(help="Write the findings that there are to this file.")] = None,
    url: Url = None,
    data_dir: DataDir = None,
) -> None:
    """Say what of your own code fails, is wrong, falls back to the host or is slow on a target.

    The evidence is that of --data; else of your coordinator, if you have one; else what ships with Portolan.
    """
    gate = Gate.parse(fail_on)
    selector = Selector.parse(on)
    evidence = find_evidence(data, url, data_dir, selector)
    installed = installed_version(selector.framework, Path(path), variables().virtual_env)
    choice = choose(evidence, selector, installed)
    target = choice.chosen
    place = located(path)
    source = read_sources(place, frameworks=[target.framework])
    if not source.files:
        raise AssessmentError(f"{path} has no Python file that can be read: name a folder, a file or a package")
    if coverage is not None:
        source = with_reached(source, Coverage.read(coverage), place if place.is_dir() else place.parent)
    assessment = assess_source(source, target, names_of(target), gate.slow, declared())
    if chart and assessment.unknown:
        with connect(url, data_dir) as client:
            chart_unknown(client, assessment.unknown, selector)
            target = extended(target, client.evidence(str(selector)).targets)
        assessment = assess_source(source, target, names_of(target), gate.slow, declared())
    if write_baseline is not None:
        with writing(write_baseline) as sink:
            sink.write(baseline_of(assessment, target.short).model_dump_json(indent=1).encode() + b"\n")
    known = read_baseline(baseline.read_bytes(), str(baseline), target.short) if baseline else None
    code = Code(place)
    silenced = silence(assessment, code.line, known)
    report = Report(
        path=path,
        prefix=_prefix(place),
        target=target,
        origin=evidence.origin,
        installed=installed,
        others=choice.others,
        source=source,
        assessment=silenced.assessment,
        ignored=silenced.ignored,
        known=silenced.known,
        callers=callers(silenced.assessment, source),
    )
    with writing(output) as sink:
        sink.write(written(report, format, code, whole=whole))
    if gate.failing(silenced.assessment):
        raise typer.Exit(FOUND)


def write_evidence(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where to; packed if its name ends in .gz.")],
    bundles: Annotated[list[Path] | None, typer.Argument(metavar="BUNDLE…", help="Files of `portolan-runner`.")] = None,
    on: Annotated[str, typer.Option("--on", metavar="TARGET", help="Only these targets of the coordinator.")] = "*/*",
    url: Url = None,
    data_dir: DataDir = None,
) -> None:
    """Write what is known of each function on each target to a file: from bundles, else from a coordinator."""
    if bundles:
        evidence = Evidence(from_bundles(bundles), "bundles")
    else:
        with connect(url, data_dir) as client:
            evidence = client.evidence(on)
    if not evidence.targets:
        raise AssessmentError("there is no evidence to write: none of it is of a target beside the CPU")
    made_at = max(target.charted_at for target in evidence.targets)
    content = evidence_file.compressed(evidence.targets, made_at)
    with writing(file) as sink:
        sink.write(content if file.suffix == ".gz" else evidence_file.written(evidence.targets, made_at))
    for target in evidence.targets:
        cases = sum(map(len, target.functions.values()))
        functions = plural(len(target.functions), "function")
        print(f"{target.target} on {target.hardware}: {functions}, {plural(cases, 'case')}")


def _prefix(place: Path) -> str:
    """The way from the working directory to the folder that the paths of sites are in; empty if it is not in there."""
    folder = place if place.is_dir() else place.parent
    try:
        within = folder.resolve().relative_to(Path.cwd())
    except ValueError:
        return ""
    return "" if within == Path() else f"{within.as_posix()}/"
