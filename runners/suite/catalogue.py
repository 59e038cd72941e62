"""Builds the catalogue: the suites that the runner offers, each with its revision and cases.

The zygote builds it, because it has imported the cases. The supervisor only passes it on.
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
    """Return all suites: the additional ones, the framework's, and the conformance suite. Imports the framework.

    The additional suites come first: if a user brings a suite with a case that another suite also has, the user means
    the case of their own suite.
    """
    shipped_suites = framework.load_suites()
    # Imported after the framework, which requires NumPy: if NumPy is missing, the framework's own error says so.
    from runners.suite import conformance
    from runners.suite.suites import Suite

    if CONFORMANCE_SUITE in shipped_suites:
        raise ValueError(f"the name {CONFORMANCE_SUITE!r} is reserved for the conformance suite; rename your suite")
    every_runners = Suite(CONFORMANCE_SUITE, conformance.__name__, conformance.FUNCTIONS)
    return {**additional_suites, **shipped_suites, CONFORMANCE_SUITE: every_runners}


PIECE = 200
"""The number of cases in one piece, which take about a megabyte as objects."""


def pieces(suites: Mapping[str, Suite]) -> Iterator[dict[str, Any]]:
    """Yield the suites in pieces. A piece is a ``protocol.catalogue.CatalogueSuite`` with some of a suite's cases."""
    from runners.suite.options import options_of

    # By identity, because a suite and its quick form share case objects.
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
    """Return every case by the name of its suite and its id."""
    return {(name, case.id): case for name, suite in suites.items() for case in suite.cases}
