"""A small campaign for reports, whose figures can be counted by hand."""

from __future__ import annotations

from collections.abc import Sequence

from coordinator.figures.counting import ANYWHERE, ON_DEVICE, WITHOUT_HOST_WORK, Counts
from coordinator.reference.models import Reference
from coordinator.results.report_data import FunctionLatencies, FunctionVerdict, Queries, ReportData
from coordinator.targets.models import Target


def target(
    id: int,
    device: str,
    device_class: str,
    *,
    framework: str = "torch",
    version: str = "2.9.0",
    hardware: str | None = None,
    environment: str = "abc123",
    is_simulated: bool = False,
) -> Target:
    return Target(
        id=id,
        framework=framework,
        version=version,
        device=device,
        device_class=device_class,
        hardware=hardware or {"cpu": "a CPU", "gpu": "NVIDIA T4"}.get(device_class, "a device"),
        environment=environment,
        simulated=is_simulated,
        notes=(),
        suite="paper",
        suite_revision="r1",
    )


CPU, XLA, CUDA = target(1, "cpu", "cpu"), target(2, "xla", "cpu"), target(3, "cuda", "gpu")


def verdict(
    on: Target,
    function: str,
    word: str,
    on_device: str | None = "as the verdict",
    *,
    cause: str | None = None,
    cause_on_device: str | None = None,
    unknown_placement: int = 0,
    unknown_cause: int = 0,
    not_counted_cause: str | None = None,
    host_work: int = 0,
    accepted: int = 0,
    without_host_work: str | None = None,
    of_another_device: int = 0,
    incomplete: int = 0,
    total: int = 1,
) -> FunctionVerdict:
    """A function of which one case failed or, for a complete failure, all cases failed, if any case counts."""
    on_device = word if on_device == "as the verdict" else on_device
    fell_back = int(cause_on_device == "placement")
    total = 0 if word == "unknown" else total
    failures = {"partial": 1, "complete": total}.get(word, 0)
    counts = {
        ANYWHERE: Counts(word, total - failures, failures, total, 0, cause),
        ON_DEVICE: on_device and Counts(on_device, 0, 0, 0, unknown_placement, cause_on_device or cause),
        WITHOUT_HOST_WORK: Counts(without_host_work or word, 0, 0, 0, 0),
    }
    return FunctionVerdict(
        on.id,
        function,
        {rule.name: of for rule, of in counts.items() if of},
        fell_back,
        incomplete,
        unknown_cause,
        not_counted_cause,
        host_work,
        accepted,
        of_another_device,
        lowered=0,
        not_lowered=0,
        lowering=None,
        missing_lowering=None,
    )


def latencies_of(on: Target, function: str, *milliseconds: float, host_only: bool = False) -> list[FunctionLatencies]:
    """One case for each latency."""
    return [FunctionLatencies(on.id, function, host_only, dict(enumerate(milliseconds)))] if milliseconds else []


def report_data(
    targets: Sequence[Target],
    verdicts: Sequence[FunctionVerdict] = (),
    latencies: Sequence[FunctionLatencies] = (),
    reference: Reference | None = None,
) -> ReportData:
    queries = Queries("SELECT verdicts", "SELECT latencies", "SELECT placements", "SELECT first calls")
    return ReportData("campaign 1", tuple(targets), tuple(verdicts), tuple(latencies), "level", reference, queries)
