"""``truth`` measures with five shares whether Portolan's claims are true, on questions with known answers.

Two shares need no framework: the failures whose cause is the cause that a person assigned, and the accusations that a
person confirmed by hand. Three are measured in each framework's environment: the slightly wrong functions that its
cases notice, the planted fallbacks that its proofs detect, and the honest calls in which its proofs report no fallback.
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
