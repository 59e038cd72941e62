"""The benches: what Portolan claims of its own speed and size, measured beside a baseline.

``python -m bench [NAME ...]`` runs them; each is a module with ``run() -> Iterator[Figure]``.
"""
