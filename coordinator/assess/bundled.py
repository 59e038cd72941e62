"""Reads evidence from bundles one by one, without a coordinator."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from coordinator.assess.evidence import CaseEvidence, Chart, TargetEvidence
from coordinator.assess.merging import Charted, merge_charts
from coordinator.assess.runs import CaseTimes, Run, RunCase, case_evidence, is_met_refusal
from coordinator.bundles import reader
from coordinator.dispatch.leases import Key
from coordinator.dispatch.records import record
from coordinator.errors import BundleError
from coordinator.figures.level import LOW
from protocol.bundle import BundledOutcome, BundleHeader
from protocol.catalogue import CatalogueCase
from protocol.enums import HOST, Cause, Ending, Placement, Verdict
from protocol.limits import LEAST_MILLISECONDS
from protocol.outcomes import Outcome

NO_KEY = Key(0, 1)
"""The job key of outcomes in bundles. They have no job in a database."""


class _Suite(NamedTuple):
    """A revision of a suite, and the version of the framework. Latencies of two devices are compared only if all four
    fields are equal."""

    framework: str
    version: str
    suite: str
    revision: str


class _Cold(NamedTuple):
    """The first call of a case in one run."""

    ms: float
    position: int
    """The number of cases that ran earlier in the same process."""


@dataclass(frozen=True)
class _Read:
    """The outcomes of one bundle."""

    header: BundleHeader
    ended_at: datetime
    signed_by: str | None
    is_unsigned: bool
    runs: Mapping[str, Sequence[Run]]
    """The outcomes of each case, in the order of runs."""
    levels: Mapping[str, float]
    """The latency of each case in its best run, in milliseconds. Includes only cases that passed on the device and were
    timed."""
    colds: Mapping[str, Sequence[_Cold]]
    """The first calls of each case that passed on the device and was timed."""

    @property
    def suite(self) -> _Suite:
        header = self.header
        return _Suite(header.runner.framework, header.runner.version, header.suite.name, header.suite.revision)


def from_bundles(
    paths: Iterable[Path], signers: Mapping[Path, str | None] | None = None, *, with_cpu: bool = False
) -> tuple[TargetEvidence, ...]:
    """Read the evidence about all targets, without the CPU unless ``with_cpu``, with latencies relative to the CPU.

    ``signers`` has the verified signer of each bundle, None for an unsigned one. Without ``signers``, no signature
    was verified. Raises ``BundleError``, which names the file, if a bundle is incomplete.
    """
    bundles = [
        _read(path, signed_by=(signers or {}).get(path), is_unsigned=signers is not None and signers.get(path) is None)
        for path in paths
    ]
    on_host: dict[_Suite, Mapping[str, float]] = {
        bundle.suite: bundle.levels for bundle in bundles if bundle.header.runner.device == HOST
    }
    return merge_charts(
        _chart_of(bundle, {} if _is_host(bundle) else on_host.get(bundle.suite, {}))
        for bundle in bundles
        if with_cpu or not _is_host(bundle)
    )


def _is_host(bundle: _Read) -> bool:
    return bundle.header.runner.device == HOST


def _read(path: Path, *, signed_by: str | None, is_unsigned: bool) -> _Read:
    with open(path, "rb") as file:
        try:
            bundle = reader.check(file)
        except BundleError as error:
            raise BundleError(f"{path}: {error}") from None
        runs: dict[str, list[Run]] = defaultdict(list)
        levels: dict[str, float] = {}
        colds: dict[str, list[_Cold]] = defaultdict(list)
        for entry in sorted(reader.outcomes(file), key=lambda entry: entry.run):
            run = _run(entry, bundle.header)
            runs[entry.case].append(run)
            if run.verdict is Verdict.passed and run.placement is Placement.on_device:
                if (level := _level(entry.outcome)) is not None:
                    levels[entry.case] = min(level, levels.get(entry.case, level))
                if (cold_ms := entry.outcome.timing.cold_ms) is not None:
                    colds[entry.case].append(_Cold(cold_ms, entry.outcome.timing.position))
    return _Read(bundle.header, bundle.ended_at, signed_by, is_unsigned, runs, levels, colds)


def _run(entry: BundledOutcome, header: BundleHeader) -> Run:
    row = record(NO_KEY, entry.outcome, framework=header.runner.framework, device=header.runner.device)
    return Run(
        verdict=Verdict(row.verdict),
        placement=Placement(row.placement),
        cause=Cause(row.cause) if row.cause else None,
        ending=Ending(row.ending),
        said=None if row.verdict == Verdict.passed else _failure_text(entry.outcome),
        operations=_operations(entry.outcome),
    )


def _operations(outcome: Outcome) -> tuple[str, ...]:
    """The operations that the host ran in a passing case, or the operation in the evidence of a failure. The column
    ``operations`` in ``coordinator/assess/store.py`` follows the same rule."""
    if outcome.verdict is Verdict.passed:
        return tuple(outcome.proof.fallbacks)
    return (outcome.evidence.operation,) if outcome.evidence and outcome.evidence.operation else ()


def _failure_text(outcome: Outcome) -> str:
    """The text of a failure. The SQL of ``failure_text`` follows the same rule."""
    evidence = outcome.evidence
    texts = (evidence.mismatch, evidence.message, evidence.signal, evidence.reason) if evidence else ()
    last = "killed at its deadline" if outcome.ending is Ending.timed_out else str(outcome.ending)
    return next((text for text in texts if text is not None), last)


def _level(outcome: Outcome) -> float | None:
    """The low quantile of the run's samples in milliseconds; None if the run was not timed, or took too little time to
    be compared. The views compute it by the same rule."""
    samples = outcome.timing.samples_ms
    level: float | None
    if len(samples) > 1:
        level, *_ = statistics.quantiles(samples, n=round(1 / LOW), method="inclusive")
    else:
        level = samples[0] if samples else None
    return level if level is not None and level >= LEAST_MILLISECONDS else None


def _chart_of(bundle: _Read, on_host: Mapping[str, float]) -> Charted:
    runner, suite = bundle.header.runner, bundle.header.suite
    functions: dict[str, list[CaseEvidence]] = defaultdict(list)
    digests: dict[str, str | None] = {}
    met_refusals: set[str] = set()
    for case in suite.cases:
        digests[case.id] = case.digest
        evidence = case_evidence(_case(case), bundle.runs[case.id], 0, _times(bundle, on_host, case.id))
        if evidence is not None:
            functions[case.function].append(evidence)
        elif is_met_refusal(_case(case), bundle.runs[case.id]):
            met_refusals.add(case.id)
    chart = Chart(
        suite.name,
        suite.revision,
        bundle.ended_at,
        repeat=runner.fingerprint.repeat,
        signed_by=bundle.signed_by,
        is_unsigned=bundle.is_unsigned,
    )
    target = TargetEvidence(
        framework=runner.framework,
        version=runner.version,
        device=runner.device,
        device_class=runner.device_class,
        hardware=runner.fingerprint.hardware,
        charts=(chart,),
        functions={name: tuple(cases) for name, cases in functions.items()},
        simulated=runner.simulated,
        notes=tuple(runner.fingerprint.notes),
    )
    return Charted(target, digests, frozenset(met_refusals))


def _times(bundle: _Read, on_host: Mapping[str, float], case: str) -> CaseTimes:
    is_compared = case in bundle.levels and case in on_host
    colds = bundle.colds.get(case, ())
    return CaseTimes(
        ratio=bundle.levels[case] / on_host[case] if is_compared else None,
        cold_ms=_median([cold.ms for cold in colds]),
        first_cold_ms=_median([cold.ms for cold in colds if cold.position == 0]),
    )


def _median(values: Sequence[float]) -> float | None:
    return statistics.median(values) if values else None


def _case(case: CatalogueCase) -> RunCase:
    return RunCase(case.id, frozenset(case.tags), case.options, case.host_only is not None)
