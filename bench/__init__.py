"""The benches measure what Portolan promises about its own speed and size, and compare each measurement with a
baseline.

``python -m bench [NAME ...]`` runs them. Each bench is a module with ``run() -> Iterator[MeasuredFigure]``.
"""
