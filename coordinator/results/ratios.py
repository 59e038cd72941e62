"""Ratios of latency between two targets, function by function. It does no I/O.

The ratio of a case is computed if it was measured on both targets. The ratio of a function is the geometric mean over
the ratios of its cases. Medians of different cases are never divided. The reference study published one latency per
function, so its ratio is the quotient of two latencies.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from coordinator.reference.models import Reference
from coordinator.results.report_data import FunctionLatencies, ReportData
from coordinator.results.statistics import Estimate, geometric_means
from coordinator.targets.models import Target
from coordinator.targets.selectors import target_name

BEFORE, AFTER = "gpu-t4", "tpu-v3-8"
"""The two devices for which the study published latencies."""
NO_BASES: Mapping[int, int] = {}


@dataclass(frozen=True)
class FunctionRatio:
    """How many times slower a function is on the other target than on the base."""

    function: str
    base_ms: float
    other_ms: float
    ratio: Estimate | float
    """The estimated ratio over cases. For the reference, only the published ratio."""

    @property
    def value(self) -> float:
        if isinstance(self.ratio, Estimate):
            assert self.ratio.value is not None
            return self.ratio.value
        return self.ratio


@dataclass(frozen=True)
class TargetRatios:
    """The ratios of one framework on two targets. The function that slowed down most comes first."""

    source: str
    framework: str
    base: str
    other: str
    functions: tuple[FunctionRatio, ...]
    targets: tuple[int, ...] = ()
    """The ids of the campaign's targets; empty for the reference."""


def with_bases(
    targets: Sequence[Target], base: str | None = None, cpu_bases: Mapping[int, int] = NO_BASES
) -> list[tuple[Target, Target]]:
    """Pair each target with its base, which is a target of the same framework.

    The base is on the device named by ``base``, otherwise on a GPU, otherwise on the CPU. Among several CPU targets,
    ``cpu_bases`` chooses. Among several other targets, the first one with the same version is chosen. Simulated
    targets, and targets that only lower programs, are not compared.
    """
    real = [target for target in targets if target.is_compared]
    pairs = []
    for other in real:
        bases = _bases([target for target in real if target.framework == other.framework], base)
        nearest = next((target for target in bases if target.id == cpu_bases.get(other.id)), None)
        base_target = nearest or _base_of(other, bases)
        if base_target is not None:
            pairs.append((base_target, other))
    return pairs


def comparisons(data: ReportData, base: str | None = None, *, with_intervals: bool = True) -> list[TargetRatios]:
    """The ratios between the campaign's targets, followed by the reference's published ratios for the same
    frameworks."""
    latencies_by_target = _by_case(data.latencies)
    target_ratios = [
        TargetRatios(
            data.name,
            one.framework,
            data.labels[one.id],
            data.labels[other.id],
            _slowest_first(
                _ratios(latencies_by_target.get(one.id, {}), latencies_by_target.get(other.id, {}), with_intervals)
            ),
            (one.id, other.id),
        )
        for one, other in with_bases(data.targets, base, data.cpu_bases)
    ]
    if data.reference:
        target_ratios += [published_ratios(data.reference, framework) for framework in data.frameworks]
    return target_ratios


def published_ratios(reference: Reference, framework: str) -> TargetRatios:
    """The ratios that the study measured for a framework: the TPU to the GPU."""
    latencies = {
        (latency.function, latency.device): latency.milliseconds
        for latency in reference.latencies
        if latency.framework == framework and latency.milliseconds is not None
    }
    names = dict.fromkeys(function for function, _ in latencies)
    both = [(name, latencies[name, BEFORE], latencies[name, AFTER]) for name in names]
    published_targets = [target for target in reference.targets if target.framework == framework]
    base, other = (
        next((target_name(t) for t in published_targets if t.device == device), device) for device in (BEFORE, AFTER)
    )
    return TargetRatios(
        reference.name,
        framework,
        base,
        other,
        _slowest_first(FunctionRatio(name, before, after, after / before) for name, before, after in both),
    )


Cases = dict[str, Mapping[int, float]]
"""Milliseconds by function and case."""


def _bases(targets: Sequence[Target], base: str | None) -> list[Target]:
    if base is not None:
        return [target for target in targets if target.device == base]
    gpus = [target for target in targets if target.device_class == "gpu"]
    return gpus or [target for target in targets if target.device == "cpu"]


def _base_of(other: Target, bases: Sequence[Target]) -> Target | None:
    """The base that a target is compared with; None if the target is the first base."""
    same = [candidate for candidate in bases if candidate.version == other.version]
    return next((candidate for candidate in (*same[:1], *bases[:1]) if candidate is not other), None)


def _by_case(latencies: Sequence[FunctionLatencies]) -> dict[int, Cases]:
    """Latencies by target, without host-only functions."""
    by_target: dict[int, Cases] = {}
    for row in latencies:
        if not row.host_only:
            by_target.setdefault(row.target_id, {})[row.function] = row.by_case
    return by_target


def _ratios(base: Cases, other: Cases, with_intervals: bool) -> Iterator[FunctionRatio]:
    both = [
        (function, cases)
        for function in sorted(base.keys() & other.keys())
        if (cases := _common(base[function], other[function]))
    ]
    quotients = [[after / before for before, after in cases] for _, cases in both]
    means = geometric_means(quotients, with_intervals=with_intervals)
    for (function, cases), mean in zip(both, means, strict=True):
        befores, afters = zip(*cases, strict=True)
        yield FunctionRatio(function, statistics.median(befores), statistics.median(afters), mean)


def _common(base: Mapping[int, float], other: Mapping[int, float]) -> list[tuple[float, float]]:
    """For each case that was measured on both, the milliseconds on the base and on the other target."""
    return [(before, other[case]) for case, before in base.items() if case in other]


def _slowest_first(ratios: Iterator[FunctionRatio]) -> tuple[FunctionRatio, ...]:
    return tuple(sorted(ratios, key=lambda ratio: (-ratio.value, ratio.function)))
