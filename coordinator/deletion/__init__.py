"""Deleting campaigns, and suites that no campaign holds outcomes of: the one place that deletes what was measured."""
