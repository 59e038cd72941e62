"""The cases of JAX's functions: one file per family, each with its list ``FUNCTIONS``."""
