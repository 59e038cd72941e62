"""``truth``: whether Portolan's claims are true, as five shares for questions with known answers.

Without a framework: the causes of failures that a person labeled, and accusations that a person repeated by hand. In
each framework's environment: the share of slightly wrong functions that its cases notice, the share of planted
fallbacks that its proofs detect, and the share of honest calls in which they report none.
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
