"""Targets: framework, version and device on one hardware; their names and selectors."""
