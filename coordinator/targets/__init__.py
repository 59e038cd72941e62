"""A target: framework, version and device on one hardware; how it is spelled, and how it is selected."""
