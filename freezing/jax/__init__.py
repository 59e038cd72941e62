"""Drawing the suite ``library`` anew from the installed JAX: its own test harnesses, and recipes by signature.

A developer's tool: ``python -m freezing.jax FOLDER SURFACE``. No runner imports it.
"""
