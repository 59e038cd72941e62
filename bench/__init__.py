"""The benches: they measure what Portolan promises about its own speed and size, next to a baseline.

``python -m bench [NAME ...]`` runs them; each is a module with ``run() -> Iterator[Figure]``.
"""
