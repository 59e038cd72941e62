"""A suite: a named set of functions with a revision of its own.

A suite is one module, or one package, whose ``FUNCTIONS`` are collected: all of ours stand in the ``suites`` folder of
their framework and bear the folder's or the module's name. Its revision, and the digest of each case, are worked out
from what decides a result (``revision.py``).

The module may also say how its cases are timed where nobody asks for anything else: ``TIMING`` is a timing policy
(``"off"``, ``"quick"``, ``"steady"``, ``"paper"``), and ``TIMED_CASES`` the cases of a function that a timed run times
(``"all"``, ``"representative"``). No result depends on either, so a revision does not move with them.
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
"""The file of recorded options in the package of a suite, by the ids of cases."""
_Choice = TypeVar("_Choice", TimingPolicy, TimedCases)


@dataclass(frozen=True)
class Suite:
    """A named set of functions. An id that two cases share is a mistake."""

    name: str
    module: str
    """The module or package of the cases, whose own package belongs to the suite."""
    functions: Sequence[Function]
    timing: TimingPolicy = DEFAULT_TIMING
    """The timing policy where a campaign or a command asks for none."""
    timed_cases: TimedCases = DEFAULT_TIMED_CASES
    """The cases of a function that are timed where a campaign or a command does not choose them."""

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
        """A digest that changes only with a case's digest, or with the set of cases."""
        return self._digested.revision

    @property
    def digests(self) -> Mapping[str, str]:
        """The digest of each case by its id: equal wherever the case is the same."""
        return self._digested.cases

    @cached_property
    def recorded(self) -> Mapping[str, Mapping[str, Any]]:
        """The options of cases that were recorded, by id: of those whose calls only their authors' code knows."""
        home = getattr(sys.modules.get(self.module), "__file__", None)
        if home is None or not (place := Path(home).with_name(RECORDED)).exists():
            return {}
        options: dict[str, dict[str, Any]] = json.loads(place.read_text(encoding="utf-8"))
        return options

    @cached_property
    def _digested(self) -> SuiteRevision:
        return revision_of(self.functions, self.module)


def load_suite(name: str, module: str) -> Suite:
    """Import the suite's cases, and with them the framework."""
    home = import_module(module)
    return Suite(
        name,
        module,
        collected(home),
        timing=_declaration(home, "TIMING", DEFAULT_TIMING),
        timed_cases=_declaration(home, "TIMED_CASES", DEFAULT_TIMED_CASES),
    )


def _declaration(module: ModuleType, name: str, default: _Choice) -> _Choice:
    """The module's constant of this name, or the default. Raises ``ValueError`` if it is no word of the default's
    enum."""
    value = getattr(module, name, default)
    words = [str(word) for word in type(default)]
    if value not in words:
        raise ValueError(f"{name} of {module.__name__} is {value!r}; write one of {', '.join(words)}")
    return type(default)(value)
