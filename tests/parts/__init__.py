"""The test suite as a whole: its parts, their order, their cost, and the number of tests that each must have.

``python -m tests.parts`` runs all parts; ``make test`` calls it.
"""
