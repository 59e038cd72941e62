"""The level of a run, and when a second one confirms it: for the views, the pages and comparisons alike."""

LOW = 0.05
"""The share of a run's samples below its level."""
ALIKE = 1.2
"""Two levels agree within this ratio: runs of one call on a shared host differ by up to this much."""
UNCONFIRMED = (
    f"no second run came within {ALIKE:g} times of it, or threads waited for a core in most samples of every run"
)
"""Why a level is unconfirmed. Pages mark it by ``~``; the level of a function is unconfirmed if those of half of its
cases are."""
