"""The metrics of ``GET /metrics``, in Prometheus' text format, counted since the process started."""

from __future__ import annotations

from collections.abc import Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, ProcessCollector, generate_latest

REGISTRY = CollectorRegistry()
RUNNER_STATES = ("online", "offline", "quarantined", "removed")

ProcessCollector(registry=REGISTRY)
task_restarts = Counter(
    "portolan_task_restarts",
    "Long tasks of the coordinator that ended and were started again.",
    ["task"],
    registry=REGISTRY,
)
jobs_stored = Counter(
    "portolan_jobs_stored", "Outcomes that were stored in the database and committed.", registry=REGISTRY
)
store_failures = Counter(
    "portolan_store_failures", "Batches of reports that could not be stored at the first attempt.", registry=REGISTRY
)
unstorable_reports = Counter(
    "portolan_unstorable_reports",
    "Reports that could not be read or stored unchanged; each ended its job with an error.",
    registry=REGISTRY,
)
quarantines = Counter("portolan_runner_quarantines", "Quarantines that this coordinator began.", registry=REGISTRY)
_runners = Gauge("portolan_runners", "Runners by state, as last read from the database.", ["state"], registry=REGISTRY)


def count_runners(by_state: Mapping[str, int]) -> None:
    """Replace the number of runners in each state."""
    for state in {*RUNNER_STATES, *by_state}:
        _runners.labels(state).set(by_state.get(state, 0))


def exposition() -> bytes:
    """All metrics in Prometheus' text format."""
    return generate_latest(REGISTRY)
