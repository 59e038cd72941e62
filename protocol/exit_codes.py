"""Exit codes of a runner's command that tell the program which started it what to do next."""

CANNOT_SERVE = 2
"""The framework or device is not available, or an option is wrong: starting it again does not help."""
UNKNOWN_TARGET = 64
"""The name of the framework or device is unknown everywhere, so it is misspelled (``EX_USAGE``)."""
