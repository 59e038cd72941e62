"""The suite ``library_quick``: about half of each function's cases in ``library``, chosen so that they differ most, and
a case of each kind in which many functions fail that fail in nothing else."""

from __future__ import annotations

from protocol.enums import TimedCases, TimingPolicy
from runners.suite.cases import collected
from runners.suite.deciding import quick_and_deciding
from runners.torch.suites import library

FUNCTIONS = quick_and_deciding(collected(library))
TIMING = TimingPolicy.off
TIMED_CASES = TimedCases.representative
