"""The cases of PyTorch's functions: one file per family, each with its list ``FUNCTIONS``."""
