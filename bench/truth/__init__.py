"""``truth`` measures how often Portolan's claims are true, on questions with known answers. It prints six shares.

Two shares need no framework: of failures, those to which Portolan assigns the same cause as a person; and of claims
against a device (*accusations*), those that a person confirmed by hand. Four are measured in each framework's
environment: of slightly wrong functions, those that a case detects, and those that a frozen gradient detects; of
fallbacks that tests cause on purpose (*plants*), those that are detected; and of similar calls without a fallback,
those that are judged to run on the device.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator

from bench.figure import MeasuredFigure

FRAMEWORKS = ("torch", "tensorflow", "jax")


def run() -> Iterator[MeasuredFigure]:
    frameworks = [framework for framework in FRAMEWORKS if importlib.util.find_spec(framework)]
    if not frameworks:
        from bench.truth import accusations, causes

        yield from causes.figures()
        yield from accusations.figures()
        return
    from bench.truth import accusations, mutants, plants

    if frameworks[0] in accusations.FRAMEWORKS:
        yield accusations.check_kept(frameworks[0])
    yield from mutants.scores(frameworks[0])
    yield from plants.shares(frameworks[0])
