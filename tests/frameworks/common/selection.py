"""Selects the cases that a run tests: a sample, the cases that the change touches, or the cases named on the command
line."""

from __future__ import annotations

import io
import json
import math
import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cached_property
from operator import attrgetter
from pathlib import Path, PurePath
from typing import Any

import numpy as np
import pytest

from protocol.enums import RECOMPILED
from runners.suite.cases import Case, Function
from runners.suite.framework import Framework
from runners.suite.frozen import MANIFEST, PACK, VARIANTS_PACK
from tests.each import check_each
from tests.levels import ROOT, content_before, drawn, touched

MOST_CHANGED = 250
"""A run at level 1 checks at most this many of the cases that a change touches in a frozen file or in a module. A
release draws thousands, and the module of a suite that is read from files has them all. These take level 2."""


class Selection:
    """The selected cases of one run. ``word`` (the option ``--cases``), if given, occurs in the id of each."""

    def __init__(self, framework: Framework, word: str | None = None) -> None:
        self._framework = framework
        self._word = word

    def every(self, cases: Iterable[Case]) -> list[Case]:
        """All of these cases. With ``--cases``, only those with its word; a test without cases is skipped."""
        every = list(cases)
        if self._word is None:
            return every
        cases_of_word = [case for case in every if self._word in case.id]
        if not cases_of_word:
            pytest.skip(f"it asks about no case with {self._word!r} in its id")
        return cases_of_word

    def drawn(
        self,
        cases: Iterable[Case],
        share: int,
        purpose: str,
        *,
        always: Callable[[Case], bool] = lambda case: False,
    ) -> list[Case]:
        """One in ``share`` of these cases, and all that the change touches. With ``--cases``, all cases with its
        word."""
        if self._word is not None:
            return self.every(cases)

        def is_kept(case: Case) -> bool:
            return self._is_touched(case) or always(case)

        return drawn(cases, share, f"{self._framework.name} {purpose}", always=is_kept)

    def by_function(self, cases: Iterable[Case], share: int, purpose: str) -> list[list[Case]]:
        """Like ``drawn``, but for functions: all cases of a function, or none."""
        groups: dict[str, list[Case]] = {}
        for case in cases:
            groups.setdefault(case.function, []).append(case)
        firsts = [group[0] for group in groups.values()]
        if self._word is None:
            whole_functions = self.drawn(firsts, share, purpose)
        else:
            whole_functions = self.every(case for group in groups.values() for case in group)
        names = {case.function for case in whole_functions}
        return [group for name, group in groups.items() if name in names]

    def _is_touched(self, case: Case) -> bool:
        # A case of a second shape has the id of the case that it is made of, and a suffix.
        return not self._touched.isdisjoint((case.id, case.id.removesuffix(f"-{RECOMPILED}")))

    @cached_property
    def _touched(self) -> frozenset[str]:
        """The cases that the change touches: those of a changed module, and the changed cases of a frozen file."""
        self._framework.load_suites()
        files = touched()
        return frozenset(
            case_id
            for file, functions in _definitions(self._framework.name)
            for case_id in (
                *(_some([case.id for function in functions for case in function.cases], file) if file in files else ()),
                *_changed_frozen_cases(PurePath(file).parent, files),
            )
        )


def _definitions(framework: str) -> Iterator[tuple[str, list[Function]]]:
    """The file of each module of cases, relative to the project, and the functions in its list."""
    for name, module in list(sys.modules.items()):
        functions = getattr(module, "FUNCTIONS", None)
        if name.startswith(f"runners.{framework}.suites.") and functions and module.__file__:
            yield str(Path(module.__file__).resolve().relative_to(ROOT)), list(functions)


def _changed_frozen_cases(folder: PurePath, files: Collection[str]) -> Iterator[str]:
    """The ids of the frozen cases in a folder that are new or changed, or a sample of them if they are many."""
    for path in (folder / PACK, folder / VARIANTS_PACK):
        if str(path) in files:
            before = content_before(str(path))
            cases_before = {} if before is None else _frozen_cases(io.BytesIO(before))
            # A case names its arrays by their digests.
            changed_names = [
                name for name, case in _frozen_cases(ROOT / path).items() if case != cases_before.get(name)
            ]
            yield from _some(changed_names, str(path))


def _some(touched_names: list[str], path: str) -> list[str]:
    """The ids of cases that a change of a file touches, or a sample of them if they are many."""
    return drawn(touched_names, max(1, math.ceil(len(touched_names) / MOST_CHANGED)), f"changed {path}")


def _frozen_cases(file: Path | io.BytesIO) -> dict[str, dict[str, Any]]:
    with np.load(file, allow_pickle=False) as members:
        cases = json.loads(members[MANIFEST].tobytes())["cases"]
    return {f"{case['function']}/{case['name']}": case for case in cases}


def check_cases(cases: Iterable[Case], check: Callable[[Case], Any]) -> None:
    """Check a property of every case. The failure names each case without it."""
    check_each(cases, check, name=attrgetter("id"))
