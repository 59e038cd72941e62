"""Conformance: checks whether a runner, in any language, keeps every promise of the runner API.

Other folders call only ``check``. ``contract.py`` lists the promises.
"""

from coordinator.conformance.findings import ClauseFinding, ConformanceReport, Level, Result
from coordinator.conformance.runner_check import check

__all__ = ["ClauseFinding", "ConformanceReport", "Level", "Result", "check"]
