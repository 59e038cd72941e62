"""``truth``: is what Portolan claims true? Five shares, each of things whose right answer is known beforehand.

Causes against failures that a person labelled, and accusations that a person repeated by hand, where
Portolan itself is installed; in each framework's environment the share of slightly wrong functions that
its cases notice, the share of planted fallbacks that its proofs see, and that of honest calls that they
accuse of nothing.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator

from bench.figure import Figure

FRAMEWORKS = ("torch", "tensorflow", "jax")


def run() -> Iterator[Figure]:
    frameworks = [framework for framework in FRAMEWORKS if importlib.util.find_spec(framework)]
    if not frameworks:
        from bench.truth import accusations, causes

        yield from causes.figures()
        yield from accusations.figures()
        return
    from bench.truth import accusations, mutants, plants

    if frameworks[0] in accusations.FRAMEWORKS:
        yield accusations.check_kept(frameworks[0])
    yield mutants.score(frameworks[0])
    yield from plants.shares(frameworks[0])
