"""The tests as a whole: their parts, in which order they run, what each costs, and how many tests each must have.

``python -m tests.parts`` runs all of them; ``make test`` calls it.
"""
