"""Assertions about a framework's suite ``docs``: it is complete, right on the CPU, detects wrong values, and its
examples are independent."""

from __future__ import annotations

import dataclasses
import gzip
import json
from collections.abc import Mapping, Sequence
from typing import Any

from freezing.common.admission import (
    AS_DOCUMENTED,
    CASE,
    NO_VALUE,
    NOT_AS_DOCUMENTED,
    NOT_UNIQUE,
    RANDOM,
)
from protocol.enums import FORM_ONLY, JUDGED_BY, Ending, Judge, Verdict
from runners.suite.cases import Case, Function
from runners.suite.device import Device
from runners.suite.examples import Example, Statement
from runners.suite.framework import Framework
from runners.suite.frozen import PACK, Pack
from runners.suite.frozen_example import FrozenExample
from tests.frameworks.common import library
from tests.frameworks.common.running import run

SURFACES = library.PROJECT / "coordinator" / "catalogue" / "data" / "surfaces"
SUITE = "docs"


def functions_of(framework: Framework) -> list[Function]:
    return list(framework.load_suites()[SUITE].functions)


def kinds_of(functions: Sequence[Function]) -> Mapping[str, int]:
    """The number of functions whose values are compared, and the number of those that only run."""
    kinds = [case.kind for function in functions for case in function.cases]
    return {"value": kinds.count("value"), "behaviour": kinds.count("behaviour")}


def assert_every_public_name_is_charted_or_left_out(framework: Framework, functions: Sequence[Function]) -> None:
    version = Pack(library.folder_of(framework, SUITE) / PACK).about[framework.name]
    content = (SURFACES / f"{framework.name}-{version}.ndjson.gz").read_bytes()
    _, *entries = map(json.loads, gzip.decompress(content).splitlines())
    names = {function.name for function in functions}
    for owners in library.left_out_of(framework, SUITE)["left_out"].values():
        for owner, samples in owners.items():
            names |= {owner, *(f"{owner}.{sample}" for sample in samples)}
    assert sorted({entry["name"] for entry in entries} - names) == []
    assert {function.name for function in functions} <= {entry["name"] for entry in entries}


def assert_says_what_is_compared(functions: Sequence[Function]) -> None:
    """Check that each function has one case, which compares its values, or only their form and then gives the
    reason."""
    assert len({function.name for function in functions}) == len(functions)
    for function in functions:
        (case,) = function.cases
        assert case.id == f"{function.name}/{CASE}"
        tags = set(case.tags) - {case.kind, case.dtype}
        if case.kind == "value":
            assert tags - {AS_DOCUMENTED} == {f"{JUDGED_BY}{Judge.itself}"}, case.id
        else:
            assert len(tags) == 2, case.id
            assert tags < {FORM_ONLY, RANDOM, NOT_UNIQUE, NOT_AS_DOCUMENTED, NO_VALUE}, case.id


def example_of(case: Case) -> FrozenExample:
    assert isinstance(case.prepare, FrozenExample)
    return case.prepare


def assert_a_changed_value_is_noticed(cpu: Device, case: Case) -> None:
    """Check that an example with a changed first value fails, or reports that a line that does not use the function is
    wrong."""
    outcome = run(cpu, _without_its_first_value(case))
    assert outcome.verdict in (Verdict.failed, Verdict.skipped), outcome.ending


def _without_its_first_value(case: Case) -> Case:
    """The case with its last statement changed: its first expected value is another one."""
    example_call = example_of(case)
    example = Example.read(example_call.example)
    label = example.wanted[0]
    if label.isdigit():
        statements = tuple(
            Statement(one.place, "'another'.encode()") if str(one.place) == label else one for one in example.statements
        )
    else:
        statements = (*example.statements, Statement(10_000, f"{label} = 'another'"))
    shorter = dataclasses.replace(example, statements=statements)
    return dataclasses.replace(case, prepare=dataclasses.replace(example_call, example=shorter.written()))


def case_of(
    example_call: FrozenExample, case: Case, sources: Sequence[str], labels: Sequence[str], result: Any
) -> Case:
    """A value case with these statements, otherwise like another case."""
    statements = tuple(Statement(place, source) for place, source in enumerate(sources, 1))
    example_text = Example(case.function, statements, tuple(labels)).written()
    return dataclasses.replace(
        case, prepare=dataclasses.replace(example_call, example=example_text), reference=lambda: result, check=None
    )


def assert_settings_do_not_reach_the_next(
    cpu: Device, functions: Sequence[Function], turning: Sequence[str], asking: str, as_it_comes: Any
) -> None:
    """Check with two examples in one process that a setting that the first changes has its default value in the
    second."""
    case = next(
        case for function in functions for case in function.cases if case.kind == "value" and not case.host_only
    )
    example_call = example_of(case)
    outcome = run(cpu, case_of(example_call, case, [*turning, asking], [], {}))
    assert outcome.ending is Ending.returned, outcome.evidence
    after = run(cpu, case_of(example_call, case, [asking], ["1"], {"1": as_it_comes}))
    assert after.ending is Ending.returned, after.evidence
