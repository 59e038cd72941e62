"""The level of a run: the views and the figures compute it from the same share of its samples."""

LOW = 0.05
"""The share of a run's samples below its level."""
