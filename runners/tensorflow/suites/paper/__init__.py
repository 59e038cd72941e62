"""The cases of TensorFlow's functions: one file per family, each with its list ``FUNCTIONS``."""
