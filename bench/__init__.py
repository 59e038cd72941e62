"""The benches measure what Portolan promises about its own speed and size, each next to a baseline.

``python -m bench [NAME ...]`` runs them. Each bench is a module with ``run() -> Iterator[Figure]``.
"""
