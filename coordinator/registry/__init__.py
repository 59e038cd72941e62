"""Registered runners: probes them, decides which coordinator owns them, and quarantines them."""
