"""Registered runners: probing, ownership by one coordinator at a time, quarantine."""
