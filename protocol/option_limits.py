"""The limits of a case's options. A process that holds a framework needs them too: standard library only."""

MAX_CALLS = 20
"""Calls of its function that the options of one case list."""
MAX_KEYWORDS = 40
"""Keywords of a call."""
MAX_KEYWORD = 128
"""Characters of the name of one."""
MAX_DTYPES = 20
MAX_VALUE = 120
"""Characters of a keyword's value in JSON."""
