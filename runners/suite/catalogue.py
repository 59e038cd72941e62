"""The catalogue: a framework's suites as the runner offers them, each with its revision.

Built in the zygote, where the cases are imported; the supervisor only passes it on.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from protocol.enums import CONFORMANCE_SUITE

if TYPE_CHECKING:
    from runners.suite.cases import Case, Function
    from runners.suite.framework import Framework

_HERE = Path(__file__).parent
_SHARED = (_HERE / "cases.py", _HERE / "checks.py")


def revision(framework: Framework) -> str:
    """Changes when a case of the framework, or what every case is judged by, changes.

    That of the conformance suite is its own, so that the framework's does not change with it.
    """
    content = [path for module in framework.suites.values() for path in sorted(_files(module))]
    return _digest([*content, *_SHARED])


def _files(module: str) -> Iterator[Path]:
    """The files of a suite's module or package, found without importing it."""
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        raise ValueError(f"there is no module {module!r}; mend the framework's declaration of its suites")
    if spec.submodule_search_locations is None:
        yield Path(spec.origin)
    for folder in spec.submodule_search_locations or ():
        yield from (path for path in Path(folder).rglob("*") if path.suffix in (".py", ".json"))


def _digest(paths: Iterable[Path]) -> str:
    hasher = hashlib.sha256()
    for path in paths:
        content = path.read_bytes()
        # Length first, so that moving a line from one file to the next is a change.
        hasher.update(f"{path.name}:{len(content)}\n".encode())
        hasher.update(content)
    return hasher.hexdigest()[:12]


_CONFORMANCE_REVISION = _digest([_HERE / "conformance.py", *_SHARED])


def suites_of(framework: Framework) -> dict[str, Sequence[Function]]:
    """The framework's own suites, and the one that every runner offers. Imports the framework."""
    own = framework.load_suites()
    # NumPy comes with it: that it is missing is for the framework's own module to say.
    from runners.suite import conformance

    if CONFORMANCE_SUITE in own:
        raise ValueError(f"the suite {CONFORMANCE_SUITE!r} is every runner's own; give it another name")
    return {**own, CONFORMANCE_SUITE: conformance.FUNCTIONS}


def offer(suites: Mapping[str, Sequence[Function]], revision: str) -> dict[str, Any]:
    """The suites as a ``protocol.catalogue.Catalogue`` is read. An id that occurs twice in a suite is a mistake."""
    for name, functions in suites.items():
        seen: set[str] = set()
        for case in (case for function in functions for case in function.cases):
            if case.id in seen:
                raise ValueError(f"suite {name!r} has two cases {case.id!r}; rename one")
            seen.add(case.id)
    return {
        "suites": [
            {
                "name": name,
                "revision": _CONFORMANCE_REVISION if name == CONFORMANCE_SUITE else revision,
                "cases": [
                    {"id": case.id, "function": case.function, "host_only": case.host_only, "tags": list(case.tags)}
                    for function in functions
                    for case in function.cases
                ],
            }
            for name, functions in suites.items()
        ]
    }


def by_id(suites: Mapping[str, Sequence[Function]]) -> dict[tuple[str, str], Case]:
    """Every case by its suite and id."""
    return {
        (name, case.id): case for name, functions in suites.items() for function in functions for case in function.cases
    }
