"""The format version and the limits of a recording. Standard library only, because processes with a framework use
them."""

from typing import Literal

TYPE = "portolan-recording"
FORMAT: Literal[1] = 1
"""The format version. A writer increases it when older readers cannot read its files."""
GRADIENT_SUFFIX = "-gradient"
"""The suffix of the id of a case that runs a recorded call forward and backward."""

MAX_CALLS = 20_000
"""Maximum number of distinct calls in a recording."""
MAX_VARIANTS = 500
"""The maximum number of distinct calls of one function. Without this limit, a function with a step counter among its
arguments would fill the recording."""
MAX_SITES = 100
"""The maximum number of call sites of a call, of a crossing or of an omitted call."""
MAX_ARRAYS = 1_000
"""Maximum number of arrays of a call, and of arrays that it returns."""
MAX_DIMENSIONS = 64
"""Maximum number of dimensions of an array, as in NumPy."""
MAX_BASE64 = 1 << 30
"""Maximum number of characters of an array's values."""
LARGEST = 1.7976931348623157e308
"""The largest float. The ends of a range are limited to it."""
