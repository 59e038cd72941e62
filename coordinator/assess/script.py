"""Assesses a single script from a request.

The script is read in a separate process, in memory and within a time limit. The script is never run and never stored.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection

from coordinator.assess.callers import callers
from coordinator.assess.code import Code, CodeInMemory
from coordinator.assess.evidence import EvidenceSet, TargetEvidence
from coordinator.assess.evidence_file import load_shipped
from coordinator.assess.findings import assess
from coordinator.assess.knowledge import read_shipped
from coordinator.assess.names import all_names, names_of
from coordinator.assess.report import AssessmentReport
from coordinator.assess.silencing import silence
from coordinator.assess.sites import AssessedSource
from coordinator.assess.sources import SUFFIXES, link_readings, read_one
from coordinator.assess.verdicts import SLOW
from coordinator.catalogue.releases import version_numbers
from coordinator.catalogue.surfaces import ROOTS
from coordinator.catalogue.usage.sources import SourceFile
from coordinator.catalogue.usage.workers import bound_parser
from coordinator.errors import RequestError
from coordinator.targets.selectors import Selector
from protocol.host_only import load_host_only

WITHIN_S = 30.0
"""The maximum time for reading a script, in seconds. A script of 1 MiB takes a few seconds."""

MOST_BYTES = 1 << 20
"""The maximum size of a script in bytes. It applies even if the limit on a request's body is higher."""


@dataclass(frozen=True)
class Script:
    """The content of a script or notebook, and its file name. The name is only a label; no file of this name is
    opened."""

    name: str
    content: bytes


@dataclass(frozen=True)
class AssessedScript:
    """A script with the results for its functions: one report per target."""

    script: Script
    source: AssessedSource
    reports: tuple[AssessmentReport, ...]

    @property
    def code(self) -> Code:
        return CodeInMemory(self.script.content)

    @property
    def functions(self) -> Sequence[str]:
        """The framework functions that the script uses, sorted by name."""
        return sorted({site.function for site in self.source.sites})


def read_script(script: Script, within_s: float = WITHIN_S) -> AssessedSource:
    """Return the sites of a script. Raises ``RequestError`` if the text is not Python, is too large, or was not read in
    time.

    The script is read in a separate process, because a parser can crash, hang or use up memory.
    """
    if not script.name.endswith(SUFFIXES):
        raise RequestError(f"{script.name or 'the file'} is not a script: choose a .py file or a notebook (.ipynb)")
    if len(script.content) > MOST_BYTES:
        raise RequestError(
            f"{script.name} has {len(script.content):,} bytes, and the limit is {MOST_BYTES:,}: send a smaller part of "
            "it, or run `portolan assess` where the file is"
        )
    context = multiprocessing.get_context("forkserver")
    ours, theirs = context.Pipe(duplex=False)
    reading = context.Process(target=_read, args=(script, theirs), daemon=True)
    reading.start()
    theirs.close()
    try:
        if not ours.poll(within_s):
            raise RequestError(f"{script.name} was not read within {within_s:g} s: send a smaller part of it")
        source: AssessedSource = ours.recv()
    except EOFError:
        raise RequestError(
            f"the process that parsed {script.name} crashed or used up its memory: send a smaller part of the file"
        ) from None
    finally:
        ours.close()
        reading.kill()
        reading.join()
        reading.close()
    if not source.files:
        reason = source.unread[0].reason
        raise RequestError(f"{script.name} cannot be read ({reason}): send a script of Python 3 or a notebook")
    return source


def frameworks_of(source: AssessedSource) -> Collection[str]:
    """The frameworks whose functions a source uses."""
    roots = {site.function.partition(".")[0] for site in source.sites}
    return [framework for framework, root in ROOTS.items() if root in roots]


def names_in(source: AssessedSource, framework: str) -> Sequence[str]:
    """Every name under which the functions in the source may be charted."""
    functions = {site.function for site in source.sites if site.function.partition(".")[0] == ROOTS[framework]}
    return sorted(set[str]().union(*map(all_names, functions)))


def newest(targets: Iterable[TargetEvidence]) -> tuple[TargetEvidence, ...]:
    """For each device and hardware, the target with the newest version."""
    by_line: dict[tuple[str, str], TargetEvidence] = {}
    for target in targets:
        line = target.device, target.hardware
        if line not in by_line or version_numbers(target.version) > version_numbers(by_line[line].version):
            by_line[line] = target
    return tuple(by_line[line] for line in sorted(by_line))


def shipped_of(framework: str, selector: Selector) -> EvidenceSet:
    """The evidence of a framework that ships with Portolan."""
    evidence = load_shipped()
    targets = (target for target in evidence.targets if target.framework == framework and selector.matches(target))
    return EvidenceSet(newest(targets), evidence.origin, evidence.made_at)


def assess_script_on(script: Script, source: AssessedSource, evidence: Iterable[EvidenceSet]) -> AssessedScript:
    """Assess a source on every target of the evidence, as ``portolan assess`` does on one target."""
    return AssessedScript(script, source, tuple(_reports(script, source, evidence)))


def _reports(script: Script, source: AssessedSource, evidence: Iterable[EvidenceSet]) -> Iterator[AssessmentReport]:
    line = CodeInMemory(script.content).line_with_end
    for part in evidence:
        for target in part.targets:
            root = ROOTS[target.framework]
            own = replace(source, sites=tuple(site for site in source.sites if site.function.startswith(f"{root}.")))
            result = silence(assess(own, target, names_of(target), SLOW, load_host_only()), line, None)
            yield AssessmentReport(
                path=script.name,
                prefix="",
                target=target,
                origin=part.origin,
                installed=None,
                others=(),
                source=own,
                assessment=result.assessment,
                ignored=result.ignored,
                known=result.known,
                callers=callers(result.assessment, own),
            )


def _read(script: Script, answer: Connection) -> None:
    bound_parser()
    knowledge, public = read_shipped()
    reading = read_one(SourceFile(script.name, "", script.content), "", knowledge)
    answer.send(link_readings([reading], knowledge, public, ROOTS.values()))
