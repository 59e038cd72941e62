"""The cases of JAX's functions. Each file covers a family of functions and has a list ``FUNCTIONS``."""
