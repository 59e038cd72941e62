"""Exit codes of a runner's command that tell the program which started it what to do next."""

CANNOT_SERVE = 2
"""Its framework or device is not there, or an option is wrong: starting it again is no use."""
UNKNOWN_TARGET = 64
"""No framework or device has this name, here or anywhere: it was misspelt (``EX_USAGE``)."""
