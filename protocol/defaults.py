"""The limits and defaults of a job's runs and time. Standard library only.

Apart from the messages, so that a command line can name them in its help without building a model.
"""

MAX_TIMEOUT_S = 14_400.0
DEFAULT_TIMEOUT_S = 900.0

MAX_RUNS = 100
DEFAULT_RUNS = 3
