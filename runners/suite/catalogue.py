"""The catalogue: a framework's suites as the runner offers them, each with its revision.

Built in the zygote, where the cases are imported; the supervisor only passes it on.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from protocol.enums import CONFORMANCE_SUITE

if TYPE_CHECKING:
    from runners.suite.cases import Case
    from runners.suite.framework import Framework
    from runners.suite.suites import Suite


def suites_of(framework: Framework, brought: Mapping[str, Suite]) -> dict[str, Suite]:
    """The suites that are brought, the framework's, and the one that every runner offers. Imports the framework.

    What is brought comes first: where another suite has a case of the same id, a person who brings one means theirs.
    """
    shipped = framework.load_suites()
    # NumPy comes with it: that it is missing is for the framework's own module to say.
    from runners.suite import conformance
    from runners.suite.suites import Suite

    if CONFORMANCE_SUITE in shipped:
        raise ValueError(f"the suite {CONFORMANCE_SUITE!r} is every runner's own; give it another name")
    every_runners = Suite(CONFORMANCE_SUITE, conformance.__name__, conformance.FUNCTIONS)
    return {**brought, **shipped, CONFORMANCE_SUITE: every_runners}


def offer(suites: Mapping[str, Suite]) -> dict[str, Any]:
    """The suites as a ``protocol.catalogue.Catalogue`` is read."""
    from runners.suite.options import options_of

    # A suite and its quick form have the same cases.
    cases = {id(case): case for suite in suites.values() for case in suite.cases}
    recorded = {id(case): suite.recorded.get(case.id) for suite in suites.values() for case in suite.cases}
    described = {key: options_of(case, recorded[key]) for key, case in cases.items()}
    return {
        "suites": [
            {
                "name": suite.name,
                "revision": suite.revision,
                "cases": [
                    {
                        "id": case.id,
                        "function": case.function,
                        "host_only": case.host_only,
                        "tags": list(case.tags),
                        "digest": suite.digests[case.id],
                        "options": described[id(case)],
                    }
                    for case in suite.cases
                ],
            }
            for suite in suites.values()
        ]
    }


def by_id(suites: Mapping[str, Suite]) -> dict[tuple[str, str], Case]:
    """Every case by its suite and id."""
    return {(name, case.id): case for name, suite in suites.items() for case in suite.cases}
