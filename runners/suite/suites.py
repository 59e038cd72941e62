"""A suite: a named set of functions with a revision of its own.

A suite is one module, or one package, whose ``FUNCTIONS`` are collected: all of ours stand in the ``suites`` folder of
their framework and bear the folder's or the module's name. Its revision, and the digest of each case, are worked out
from what decides a result (``revision.py``).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

from runners.suite.cases import Case, Function, collected
from runners.suite.revision import SuiteRevision, revision_of

RECORDED = "calls.json"
"""The file of recorded options in the package of a suite, by the ids of cases."""


@dataclass(frozen=True)
class Suite:
    """A named set of functions. An id that two cases share is a mistake."""

    name: str
    module: str
    """The module or package of the cases, whose own package belongs to the suite."""
    functions: Sequence[Function]

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
    return Suite(name, module, collected(import_module(module)))
