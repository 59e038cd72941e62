"""Limits and defaults for the number of runs of a campaign and the timeout of a job. Standard library only.

The message models are in other modules, so that a command line can show these limits in its help without building
models.
"""

MAX_TIMEOUT_S = 14_400.0
DEFAULT_TIMEOUT_S = 900.0

MAX_RUNS = 100
DEFAULT_RUNS = 3
