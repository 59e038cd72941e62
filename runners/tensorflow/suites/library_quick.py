"""The suite ``library_quick``: a few cases of each function in ``library``, with every kind of its inputs."""

from __future__ import annotations

from protocol.enums import TimedCases, TimingPolicy
from runners.suite.cases import collected
from runners.suite.frozen import quick_functions
from runners.tensorflow.suites import library

FUNCTIONS = quick_functions(collected(library))
TIMING = TimingPolicy.off
TIMED_CASES = TimedCases.representative
