"""The trials of the mutation scores: each case against every mutant that comes to bear on it."""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import cast

from protocol.enums import GRADIENT, RECOMPILED, WRONG_ON_HOST, TimingPolicy, Verdict
from runners.suite.cases import Case
from runners.suite.device import Device
from tests.frameworks.common.library import wrong_outcomes
from tests.frameworks.common.mutants import Mutant, Wrong
from tests.frameworks.common.noticing import mutants, with_its_reference_kept
from tests.frameworks.common.operators import Ignoring, operators, right_once
from tests.frameworks.common.running import cases, run
from tests.frameworks.common.subject import Subject, subject_of

LIBRARY = "library"


@dataclass(frozen=True)
class Trials:
    """The value cases of one framework on the host, and the functions that make its functions wrong."""

    cpu: Device
    cases: list[Case]
    gradients: list[Case]
    """The frozen gradients of the suite ``library``, except those that the host gets wrong."""
    subject: Subject

    def of(self, case: Case) -> Iterator[tuple[str, bool]]:
        """Each operator that affected the case, and whether the case detected it."""
        case = with_its_reference_kept(case)
        if run(self.cpu, case).verdict is not Verdict.passed:
            return
        for operator, is_applied, is_noticed in self._try_mutants(case):
            if is_applied and (is_noticed or case.id not in self.subject.of_part):
                yield operator, is_noticed

    def of_gradient(self, case: Case) -> Iterator[tuple[str, bool]]:
        """Each mutant that changed a gradient of the case, and whether the case detected it."""
        if run(self.cpu, case).verdict is not Verdict.passed:
            return
        for name, has_survived in wrong_outcomes(self.cpu, case, self.subject):
            yield _family(name), not has_survived

    def _try_mutants(self, case: Case) -> Iterator[tuple[str, bool, bool]]:
        gradient_taken = False
        for mutant in chain(mutants(self.subject.arrays), operators(self.subject.arrays, self.subject.dialect)):
            is_noticed = self._is_noticed(mutant, case)
            # Nobody can miss the gradient of a result that none is taken of.
            if mutant.name != "detached" or gradient_taken:
                yield _family(mutant.name), mutant.applied, is_noticed
            gradient_taken |= mutant.name == "gradient off" and mutant.applied
        once = right_once(self.subject.arrays, self.subject.dialect)
        is_noticed = self._is_noticed(once, case, TimingPolicy.steady)
        yield once.name, once.applied, is_noticed
        recorder = self._ignoring("")
        run(cast(Device, recorder), case)
        for name in sorted(recorder.used):
            device = self._ignoring(name)
            is_noticed = run(cast(Device, device), case).verdict is not Verdict.passed
            yield "ignored keyword", device.applied, is_noticed

    def _is_noticed(self, mutant: Mutant, case: Case, timing: TimingPolicy = TimingPolicy.off) -> bool:
        outcome = run(cast(Device, Wrong(self.cpu, mutant, self.subject.wrapper_of)), case, timing)
        return outcome.verdict is not Verdict.passed

    def _ignoring(self, name: str) -> Ignoring:
        return Ignoring(self.cpu, self.subject.arrays, self.subject.dialect, self.subject.wrapper_of, name)


@cache
def trials(framework: str) -> Trials:
    """The trials of the framework in this environment."""
    framework_module = importlib.import_module(f"runners.{framework}").FRAMEWORK
    os.environ.update(framework_module.devices["cpu"].variables)
    cpu = framework_module.load_device("cpu")
    cpu.prime()
    return Trials(
        cpu=cpu,
        cases=cases(framework_module, "value"),
        gradients=[
            case
            for case in cases(framework_module, "value", LIBRARY)
            if GRADIENT in case.tags and not {RECOMPILED, WRONG_ON_HOST} & set(case.tags)
        ],
        subject=subject_of(framework),
    )


def _family(name: str) -> str:
    return re.sub(r"^value \d+", "a value", name)
