"""Mutation of the product: small mistakes in its own decisions, each of which the tests must notice.

``python -m tests.mutation --mutants 30 --seed 7`` draws them, makes each in a copy of the tree, and runs the tests of
level 1 that are about it. Mutants of a framework's functions, which measure our cases, stand in ``tests/frameworks``.
"""
