"""Exit codes of a runner's command, for the program that starts the command."""

CANNOT_SERVE = 2
"""The framework or device is not available, or an option is wrong. Restarting does not help."""
UNKNOWN_TARGET = 64
"""The name of the framework or device is misspelled: no runner has it (``EX_USAGE``)."""
