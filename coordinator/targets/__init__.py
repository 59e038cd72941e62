"""A target: framework, version and device on one hardware; how it is written and selected."""
