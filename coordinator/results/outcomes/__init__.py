"""Outcomes: pages of them, the details of one, and export files of all."""
