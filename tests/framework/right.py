"""Is a case right where nothing is in the way: on the host's CPU?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable
from types import ModuleType

from protocol.words import Ending
from runners.cases import Case
from runners.devices import Device
from tests.framework.running import cases, run


def assert_right(cpu: Device, case: Case, *, gone: Container[str], raising: Container[str] = ()) -> None:
    """It passes; or its function is known to be gone, or to raise without a device of its own."""
    outcome = run(cpu, case)
    if case.function in gone:
        assert outcome.ending is Ending.removed
    elif case.function in raising:
        assert outcome.ending is Ending.raised
    elif case.not_applicable and outcome.ending is Ending.not_applicable:
        assert outcome.evidence is not None
        assert outcome.evidence.reason
    else:
        assert outcome.ending is Ending.returned, outcome.evidence


def assert_unique(framework: ModuleType) -> None:
    counted = Counter(case.id for case in cases(framework))
    assert [identifier for identifier, times in counted.items() if times > 1] == []


def assert_known(framework: ModuleType, named: Iterable[str]) -> None:
    """Every name of a list of exceptions is a function of today's suites."""
    known = {case.function for case in cases(framework)} | {case.id for case in cases(framework)}
    assert [name for name in named if name not in known] == []
