"""Registered runners: probed, owned by one coordinator at a time, quarantined."""
