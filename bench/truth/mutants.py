"""Measures the mutation score: the share of slightly wrong functions (mutants) for which a case of the framework fails.
The tests (``tests/frameworks/common/operators.py``) define how a function is made wrong, and when a case counts as
failed. This module draws cases and computes shares.
"""

from __future__ import annotations

import importlib
import os
import random
from collections import Counter
from typing import Any

from bench.figure import MeasuredFigure
from bench.place import say

WHOLE = "PORTOLAN_BENCH_WHOLE"
SEED = "PORTOLAN_BENCH_SEED"
DRAWN = 60
TARGET = 0.97


def score(framework: str) -> MeasuredFigure:
    """Measure the share of mutants that are detected by a sample of the cases that check values, or with
    ``PORTOLAN_BENCH_WHOLE`` by all these cases."""
    seed = int(os.environ.get(SEED) or random.SystemRandom().randrange(10_000))
    trials = _trials(framework)
    cases = list(trials.cases)
    drawn_cases = cases if os.environ.get(WHOLE) else random.Random(seed).sample(cases, min(DRAWN, len(cases)))
    say("truth", f"mutants of {len(drawn_cases)} of {len(cases)} cases of {framework}, seed {seed}")
    noticed_counts: Counter[str] = Counter()
    applied_counts: Counter[str] = Counter()
    missed_mutants: list[str] = []
    for number, case in enumerate(drawn_cases, 1):
        for operator, was_noticed in trials.of(case):
            applied_counts[operator] += 1
            noticed_counts[operator] += was_noticed
            if not was_noticed:
                missed_mutants.append(f"{case.id}: {operator}")
        if number % 20 == 0:
            say(
                "truth",
                f"{number} cases, {sum(noticed_counts.values())} of {sum(applied_counts.values())} mutants noticed",
            )
    total = sum(applied_counts.values())
    share = sum(noticed_counts.values()) / total
    return MeasuredFigure(
        f"mutants_{framework}",
        share,
        "share of mutants",
        target=f"at least {TARGET:.0%} of the mutants that change a result",
        met=share >= TARGET,
        n=total,
        detail={
            "seed": seed,
            "cases": len(drawn_cases),
            "of": len(cases),
            "operators": {name: f"{noticed_counts[name]} of {count}" for name, count in applied_counts.most_common()},
            "missed": missed_mutants,
        },
    )


def _trials(framework: str) -> Any:
    """Load the trials from the framework's own tests."""
    return importlib.import_module("tests.frameworks.common.score").trials(framework)
