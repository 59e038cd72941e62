"""A suite: a named set of functions with a revision of its own.

A suite is a module or a package that defines ``FUNCTIONS``. The suites in this repository are in the ``suites`` folder
of their framework, and have the name of their module or package. Its revision and the digest of each case are computed
from everything that decides a result (``revision.py``).

The module may also set how its cases are timed by default: ``TIMING`` is a timing policy (``"off"``, ``"quick"``,
``"steady"``, ``"paper"``), and ``TIMED_CASES`` says which cases of a function are timed (``"all"``,
``"representative"``). No result depends on them, so they do not change the revision.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from protocol.enums import DEFAULT_TIMED_CASES, DEFAULT_TIMING, TimedCases, TimingPolicy
from runners.suite.cases import Case, Function, collected
from runners.suite.revision import SuiteRevision, revision_of

RECORDED = "calls.json"
"""The name of a file in the package of a suite: it holds recorded options by the ids of cases."""
_Choice = TypeVar("_Choice", TimingPolicy, TimedCases)


@dataclass(frozen=True)
class Suite:
    """A named set of functions. Raises ``ValueError`` if two cases have the same id."""

    name: str
    module: str
    """The module or package of the cases. Source in its top-level package counts in the digests."""
    functions: Sequence[Function]
    timing: TimingPolicy = DEFAULT_TIMING
    """The timing policy, unless a campaign or a command sets one."""
    timed_cases: TimedCases = DEFAULT_TIMED_CASES
    """Which cases of a function are timed, unless a campaign or a command sets it."""

    def __post_init__(self) -> None:
        case_ids: set[str] = set()
        for case in self.cases:
            if case.id in case_ids:
                raise ValueError(f"suite {self.name!r} has two cases {case.id!r}; rename one")
            case_ids.add(case.id)

    @property
    def cases(self) -> list[Case]:
        return [case for function in self.functions for case in function.cases]

    @property
    def revision(self) -> str:
        """A digest that changes only if the digest of a case or the set of cases changes."""
        return self._digested.revision

    @property
    def digests(self) -> Mapping[str, str]:
        """The digest of each case by its id. Equal digests mean equal cases."""
        return self._digested.cases

    @cached_property
    def recorded(self) -> Mapping[str, Mapping[str, Any]]:
        """Recorded options by the ids of cases, for cases whose calls can only be found by running them."""
        home = getattr(sys.modules.get(self.module), "__file__", None)
        if home is None or not (place := Path(home).with_name(RECORDED)).exists():
            return {}
        options: dict[str, dict[str, Any]] = json.loads(place.read_text(encoding="utf-8"))
        return options

    @cached_property
    def _digested(self) -> SuiteRevision:
        return revision_of(self.functions, self.module)


def load_suite(name: str, module: str) -> Suite:
    """Import the cases of a suite, and thereby the framework."""
    home = import_module(module)
    return Suite(
        name,
        module,
        collected(home),
        timing=_declaration(home, "TIMING", DEFAULT_TIMING),
        timed_cases=_declaration(home, "TIMED_CASES", DEFAULT_TIMED_CASES),
    )


def _declaration(module: ModuleType, name: str, default: _Choice) -> _Choice:
    """Return the module's constant of this name, or the default.

    Raises ``ValueError`` if the constant is not a value of the default's enum.
    """
    value = getattr(module, name, default)
    words = [str(word) for word in type(default)]
    if value not in words:
        raise ValueError(f"{name} of {module.__name__} is {value!r}; write one of {', '.join(words)}")
    return type(default)(value)
