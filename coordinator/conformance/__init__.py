"""Conformance: holds any runner, in any language, to the runner API, sentence by sentence.

``check`` is all that others need; what is promised stands in ``contract.py``.
"""

from coordinator.conformance.findings import ClauseFinding, ConformanceReport, Level, Result
from coordinator.conformance.runner_check import check

__all__ = ["ClauseFinding", "ConformanceReport", "Level", "Result", "check"]
