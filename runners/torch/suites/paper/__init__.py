"""The cases of PyTorch's functions. Each file covers a family of functions and has a list ``FUNCTIONS``."""
