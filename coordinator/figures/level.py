"""The level of a run, and the rule by which a second run confirms it. Views, pages and comparisons use both."""

LOW = 0.05
"""The quantile that is the level: the share of a run's samples below it."""
ALIKE = 1.2
"""The ratio within which two levels count as equal. Levels of runs of one call on a shared host differ by up to this
ratio."""
UNCONFIRMED = (
    f"no second run came within a factor of {ALIKE:g} of it, or threads waited for a core in most samples of every run"
)
"""The explanation of an unconfirmed level, which pages mark with ``~``. The level of a function is unconfirmed if the
levels of at least half of its cases are."""
