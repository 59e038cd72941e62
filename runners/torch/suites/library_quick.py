"""The suite ``library_quick``: about half of each function's cases in ``library``, chosen so that they differ most."""

from __future__ import annotations

from protocol.enums import TimedCases, TimingPolicy
from runners.suite.cases import collected
from runners.suite.frozen import quick_functions
from runners.torch.suites import library

FUNCTIONS = quick_functions(collected(library))
TIMING = TimingPolicy.off
TIMED_CASES = TimedCases.representative
