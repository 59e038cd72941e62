"""Mutation tests of Portolan: small errors are put into code that makes decisions, and the tests must detect each.

``python -m tests.mutation --mutants 30 --seed 7`` draws mutants, makes each in a copy of the project, and runs the
related level 1 tests. Mutants of frameworks' functions, which measure Portolan's cases, are in ``tests/frameworks``.
"""
