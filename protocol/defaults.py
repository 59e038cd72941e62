"""Limits and defaults for the number of runs of a campaign and the timeout of a job. Standard library only.

They are separate from the messages, so that a command line can show them in its help without building models.
"""

MAX_TIMEOUT_S = 14_400.0
DEFAULT_TIMEOUT_S = 900.0

MAX_RUNS = 100
DEFAULT_RUNS = 3
