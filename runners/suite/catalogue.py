"""The catalogue: a framework's suites as the runner offers them, each with its revision.

Built in the zygote, where the cases are imported; the supervisor only passes it on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from protocol.enums import CONFORMANCE_SUITE

if TYPE_CHECKING:
    from runners.suite.cases import Case
    from runners.suite.framework import Framework
    from runners.suite.suites import Suite


def suites_of(framework: Framework, additional_suites: Mapping[str, Suite]) -> dict[str, Suite]:
    """The suites that are brought, the framework's, and the one that every runner offers. Imports the framework.

    What is brought comes first: where another suite has a case of the same id, a person who brings one means theirs.
    """
    shipped_suites = framework.load_suites()
    # NumPy comes with it: that it is missing is for the framework's own module to say.
    from runners.suite import conformance
    from runners.suite.suites import Suite

    if CONFORMANCE_SUITE in shipped_suites:
        raise ValueError(f"the suite {CONFORMANCE_SUITE!r} is every runner's own; give it another name")
    every_runners = Suite(CONFORMANCE_SUITE, conformance.__name__, conformance.FUNCTIONS)
    return {**additional_suites, **shipped_suites, CONFORMANCE_SUITE: every_runners}


PIECE = 200
"""Cases of one piece: a megabyte as objects."""


def pieces(suites: Mapping[str, Suite]) -> Iterator[dict[str, Any]]:
    """The suites in pieces, each as a ``protocol.catalogue.CatalogueSuite`` is read and with the next of its cases."""
    from runners.suite.options import options_of

    # A suite and its quick form have the same cases.
    options: dict[int, dict[str, Any]] = {}
    for suite in suites.values():
        cases = list(suite.cases)
        for start in range(0, max(1, len(cases)), PIECE):
            piece = []
            for case in cases[start : start + PIECE]:
                if id(case) not in options:
                    options[id(case)] = options_of(case, suite.recorded.get(case.id))
                piece.append(
                    {
                        "id": case.id,
                        "function": case.function,
                        "host_only": case.host_only,
                        "tags": list(case.tags),
                        "digest": suite.digests[case.id],
                        "options": options[id(case)],
                    }
                )
            yield {
                "name": suite.name,
                "revision": suite.revision,
                "timing": suite.timing.value,
                "timed_cases": suite.timed_cases.value,
                "cases": piece,
            }


def by_id(suites: Mapping[str, Suite]) -> dict[tuple[str, str], Case]:
    """Every case by its suite and id."""
    return {(name, case.id): case for name, suite in suites.items() for case in suite.cases}
