"""Areas: modules that make decisions, and the slow tests that execute them.

Unit and integration tests belong to the package of a module, so they are not listed here.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Area:
    """A kind of decision: its modules, relative to the project, and tests outside of their packages."""

    modules: tuple[str, ...]
    tests: tuple[str, ...]
    """Files or folders in ``tests``, which run last."""
    functions: tuple[str, ...] = ()
    """The functions of the modules that make decisions; if empty, all functions."""


AREAS: dict[str, Area] = {
    "state machine": Area(
        (
            "coordinator/dispatch/runner_state_machine.py",
            "coordinator/dispatch/leases.py",
        ),
        ("faults/dispatch", "acceptance/test_verdicts_first.py"),
    ),
    "fences": Area(
        (
            "coordinator/dispatch/queue.py",
            "coordinator/dispatch/finishes.py",
            "coordinator/dispatch/outcome_writer.py",
            "coordinator/registry/ownership.py",
        ),
        (
            "integration/coordinator/dispatch",
            "acceptance/test_verdicts_first.py",
            "faults/dispatch/test_late_stores.py",
            "faults/dispatch",
        ),
    ),
    "lost attempts": Area(
        (
            "coordinator/dispatch/lost_attempts.py",
            "coordinator/dispatch/reaper.py",
            "coordinator/configuration/backoff.py",
        ),
        ("unit/coordinator/dispatch", "integration/coordinator/dispatch", "faults/dispatch"),
    ),
    "verdicts": Area(
        (
            "coordinator/results/comparison/cases.py",
            "coordinator/results/comparison/verdicts.py",
            "coordinator/results/coverage.py",
            "coordinator/results/judges.py",
            "coordinator/results/ratios.py",
            "coordinator/results/statistics.py",
            "coordinator/results/summary.py",
        ),
        (
            "unit/coordinator/results",
            "unit/coordinator/reports",
            "integration/coordinator/results",
            "integration/coordinator/reports",
            "acceptance/test_judges.py",
            "acceptance/test_coverage_read_side.py",
            "acceptance/test_one_read_side.py",
            "acceptance/web/test_figures.py",
        ),
    ),
    "causes": Area(
        (
            "coordinator/causes/patterns.py",
            "coordinator/causes/rules.py",
            "coordinator/causes/service.py",
        ),
        ("acceptance/test_review.py", "faults/causes", "acceptance/test_lowered_read_side.py"),
    ),
    "placement": Area(
        ("runners/suite/placement.py", "runners/suite/host_work.py", "coordinator/dispatch/records.py"),
        (
            "unit/runners/suite/test_placement.py",
            "unit/runners/suite/test_host_work.py",
            "faults/placement",
            "faults/numbers",
        ),
        functions=(
            *("place", "_missing", "Read", "CallRecord", "_Ledger", "fallbacks"),
            *("_proven", "_zero_if_tiny", "summary", "overdue"),
        ),
    ),
    "clock": Area(
        (
            "runners/isolation/confirmation.py",
            "runners/isolation/deadline.py",
            "runners/isolation/timing.py",
        ),
        ("acceptance/test_timed_cases.py", "faults/runner/test_confirmation.py", "faults/runner/test_hazards.py"),
    ),
    "access": Area(
        (
            "coordinator/access/bodies.py",
            "coordinator/access/caller.py",
            "coordinator/access/listeners.py",
            "coordinator/access/guard.py",
            "coordinator/access/identifier.py",
            "coordinator/access/json_scan.py",
            "coordinator/access/middleware.py",
            "coordinator/access/requests.py",
            "coordinator/access/roles.py",
            "coordinator/access/service.py",
            "coordinator/access/slots.py",
            "coordinator/access/tokens.py",
        ),
        ("unit/coordinator/configuration/test_bounds.py", "faults/access", "acceptance/test_enrolment.py"),
    ),
}
