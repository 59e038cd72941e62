"""Deletes campaigns, and suites without outcomes in any campaign. Only this folder deletes outcomes."""
