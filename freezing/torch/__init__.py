"""Draw torch's suites from the test inputs that the installed torch ships for its operators.

This is a developer's tool; no runner imports it. ``python -m freezing.torch FOLDER`` draws ``library``, and ``python -m
freezing.torch.variants FOLDER`` draws variants of its cases with other inputs.
"""
