"""Measures the mutation score: the share of slightly wrong functions (mutants) for which a case of the framework fails.
The tests (``tests/frameworks/common/operators.py``) define how a function is made wrong, and when a case counts as
failed. This module draws cases and computes shares: one for the cases of the default suite, and one for the frozen
gradients of ``library``. ``PORTOLAN_BENCH_SEED`` repeats a draw.
"""

from __future__ import annotations

import importlib
import os
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from bench.figure import MeasuredFigure
from bench.place import say

if TYPE_CHECKING:
    from runners.suite.cases import Case

WHOLE = "PORTOLAN_BENCH_WHOLE"
SEED = "PORTOLAN_BENCH_SEED"
DRAWN = 60
TARGET = 0.97


def scores(framework: str) -> Iterator[MeasuredFigure]:
    """Measure the shares of mutants that are detected by a sample of the cases that check values, and by a sample of
    the frozen gradients. With ``PORTOLAN_BENCH_WHOLE``, all these cases are tried."""
    trials = _trials(framework)
    yield _share(f"mutants_{framework}", "cases", trials.cases, trials.of)
    yield _share(f"mutants_of_gradients_{framework}", "frozen gradients", trials.gradients, trials.of_gradient)


def _share(
    name: str, title: str, cases: Sequence[Case], outcomes_of: Callable[[Case], Iterable[tuple[str, bool]]]
) -> MeasuredFigure:
    seed = int(os.environ.get(SEED) or random.SystemRandom().randrange(10_000))
    drawn_cases = (
        list(cases) if os.environ.get(WHOLE) else random.Random(seed).sample(list(cases), min(DRAWN, len(cases)))
    )
    say("truth", f"{name}: {len(drawn_cases)} of {len(cases)} {title}, seed {seed}")
    noticed_counts: Counter[str] = Counter()
    applied_counts: Counter[str] = Counter()
    missed_mutants: list[str] = []
    for number, case in enumerate(drawn_cases, 1):
        for operator, was_noticed in outcomes_of(case):
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
        name,
        share,
        "share of mutants",
        target=f"at least {TARGET:.0%} of the mutants that change a result",
        met=share >= TARGET,
        n=total,
        detail={
            "seed": seed,
            "cases": len(drawn_cases),
            "of": len(cases),
            "operators": {
                operator: f"{noticed_counts[operator]} of {count}" for operator, count in applied_counts.most_common()
            },
            "missed": missed_mutants,
        },
    )


def _trials(framework: str) -> Any:
    """Load the trials from the framework's own tests."""
    return importlib.import_module("tests.frameworks.common.score").trials(framework)
