"""The limits of a case's options (``CaseOptions``). Standard library only, because processes with a framework also use
them."""

MAX_CALLS = 20
"""Maximum number of calls that the options of one case list."""
MAX_ARGUMENTS = 20
"""Maximum number of positional arguments of a call whose values are listed."""
MAX_KEYWORDS = 40
"""Maximum number of keywords of a call."""
MAX_KEYWORD = 128
"""Maximum length of a keyword's name."""
MAX_DTYPES = 20
MAX_VALUE = 120
"""Maximum length of an argument's value in JSON."""
