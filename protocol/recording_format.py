"""The form of a recording and its limits. A process that holds a framework needs them too: standard library only."""

from typing import Literal

TYPE = "portolan-recording"
FORMAT: Literal[1] = 1
"""Counts up when an older reader could not read what is written."""
GRADIENT_SUFFIX = "-gradient"
"""The end of the id of the case that runs a recorded call forward and backward."""

MAX_CALLS = 20_000
"""Distinct calls of a recording."""
MAX_VARIANTS = 500
"""Distinct calls of one function: a number that counts steps makes another call of each."""
MAX_SITES = 100
"""Places of a call, of a crossing or of what was left out, that are told apart."""
MAX_ARRAYS = 1_000
"""Arrays of a call, and what it returns."""
MAX_DIMENSIONS = 64
"""Most dimensions of an array, as in NumPy."""
MAX_BASE64 = 1 << 30
"""Characters of the values of an array."""
LARGEST = 1.7976931348623157e308
"""The largest float: an end of a range that values are drawn from is finite."""
