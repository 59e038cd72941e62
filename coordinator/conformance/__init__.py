"""Conformance: holds any runner, in any language, to the runner API, sentence by sentence.

``check`` is all that others need; what is promised stands in ``contract.py``.
"""

from coordinator.conformance.contract import Level
from coordinator.conformance.kit import check
from coordinator.conformance.report import Finding, Report, Result

__all__ = ["Finding", "Level", "Report", "Result", "check"]
