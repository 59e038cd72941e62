"""A reference: published results as they were printed, and sentences that must be shown with them. No I/O.

The fields are checked and converted on creation, because data files contain texts, and the database contains lists.
"""

from __future__ import annotations

from collections.abc import Mapping

from pydantic.dataclasses import dataclass

PAPER = "paper-2023"
REFERENCE_OF: Mapping[str, str] = {"paper": PAPER}
"""For each suite that has a reference, the name of the reference. A reference has results only for functions of its
suite."""
TOP = "top20"
"""The group of the 20 most used functions. The other groups are ``decile10`` (rarest) to ``decile100`` (most used)."""


@dataclass(frozen=True)
class ReferenceTarget:
    """A target of published results. The device is named as in the study: ``gpu-t4``."""

    framework: str
    version: str
    device: str
    device_class: str
    hardware: str


@dataclass(frozen=True)
class ReferenceFunction:
    framework: str
    function: str
    strata: tuple[str, ...]
    subtests: int


@dataclass(frozen=True)
class ReferenceLatency:
    """The mean latency of one function on one device; None if none was published."""

    framework: str
    function: str
    device: str
    milliseconds: float | None


@dataclass(frozen=True)
class ReferenceCount:
    """The numbers of functions that failed in part, failed completely and succeeded. Their sum may differ from the
    published total."""

    framework: str
    device: str
    partial: int
    complete: int
    success: int
    total: int

    @property
    def failed(self) -> int:
        return self.partial + self.complete


@dataclass(frozen=True)
class ReferenceRate:
    """The rates of verdicts in whole percent, as printed in one of the study's tables (``table-1``, ``table-3``)."""

    figure: str
    framework: str
    device: str
    pass_pct: float
    partial_pct: float
    complete_pct: float


@dataclass(frozen=True)
class ReferenceFailures:
    """The share of functions that failed, among the 20 most used (``top20``) or among ``all``."""

    framework: str
    device: str
    stratum: str
    failed_pct: float


@dataclass(frozen=True)
class ReferenceSpeedup:
    """The share of functions that are at least ``factor`` times as fast on the newer device."""

    framework: str
    older: str
    newer: str
    factor: float
    functions_pct: float


@dataclass(frozen=True)
class Caveat:
    """A sentence to show with results. Without a framework or device, it applies to all results."""

    figures: tuple[str, ...]
    framework: str | None
    device: str | None
    sentence: str


@dataclass(frozen=True)
class Reference:
    name: str
    citation: str
    targets: tuple[ReferenceTarget, ...]
    functions: tuple[ReferenceFunction, ...]
    latencies: tuple[ReferenceLatency, ...]
    counts: tuple[ReferenceCount, ...]
    rates: tuple[ReferenceRate, ...]
    failures: tuple[ReferenceFailures, ...]
    speedups: tuple[ReferenceSpeedup, ...]
    caveats: tuple[Caveat, ...]

    def target(self, framework: str, device: str) -> ReferenceTarget:
        return next(target for target in self.targets if (target.framework, target.device) == (framework, device))

    def strata(self) -> dict[tuple[str, str], frozenset[str]]:
        """For each function of a framework, the groups from which the study drew it."""
        return {(row.framework, row.function): frozenset(row.strata) for row in self.functions}

    def sentences(self, figures: frozenset[str], frameworks: frozenset[str]) -> tuple[str, ...]:
        """The sentences that must be shown with these figures of these frameworks."""
        return tuple(
            caveat.sentence
            for caveat in self.caveats
            if figures.intersection(caveat.figures) and (caveat.framework is None or caveat.framework in frameworks)
        )
