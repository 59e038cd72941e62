"""The suite ``library_quick``: of each function of ``library`` about half of its cases, those that differ most."""

from __future__ import annotations

from protocol.enums import TimedCases, TimingPolicy
from runners.suite.cases import collected
from runners.suite.frozen import quick_functions
from runners.torch.suites import library

FUNCTIONS = quick_functions(collected(library))
TIMING = TimingPolicy.off
TIMED_CASES = TimedCases.representative
