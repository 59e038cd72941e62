"""Outcomes: pages of outcomes, the details of one outcome, and export files with all outcomes."""
