"""Targets: a framework, version and device on one hardware. Their names and selectors."""
