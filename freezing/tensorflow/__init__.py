"""Draw TensorFlow's suites from the public functions of the installed TensorFlow.

This is a developer's tool; no runner imports it. ``python -m freezing.tensorflow SURFACE FOLDER`` draws ``library``.
"""
