"""Outcomes: classified, recorded, queried, exported."""
