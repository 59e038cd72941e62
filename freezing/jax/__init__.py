"""Draw JAX's suites from the installed JAX: from its own test harnesses, and from recipes by signature.

This is a developer's tool; no runner imports it. ``python -m freezing.jax FOLDER SURFACE`` draws ``library``.
"""
