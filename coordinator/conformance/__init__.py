"""Conformance: checks whether a runner, in any language, implements the runner API, sentence by sentence.

Other folders need only ``check``. The promises are listed in ``contract.py``.
"""

from coordinator.conformance.findings import ClauseFinding, ConformanceReport, Level, Result
from coordinator.conformance.runner_check import check

__all__ = ["ClauseFinding", "ConformanceReport", "Level", "Result", "check"]
