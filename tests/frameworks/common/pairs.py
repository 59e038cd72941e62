"""Assertions about a framework's suite ``pairs``: it can be read without the framework, has hundreds of pairs, and each
passes on the host."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path

from freezing.common.pair_suite import PairSuite
from protocol.enums import Verdict
from runners.suite.cases import Case
from runners.suite.device import Device
from runners.suite.framework import Framework
from runners.suite.frozen import PACK, Pack
from runners.suite.pairs import first_of
from tests.frameworks.common import library
from tests.frameworks.common.running import run

SUITE = "pairs"
LEAST_PAIRS = 400


def pairs_of(framework: Framework) -> set[tuple[str, str]]:
    cases = framework.load_suites()[SUITE].cases
    return {(first_of(written_of(case)).function, case.function) for case in cases}


def written_of(case: Case) -> str:
    written: str = case.prepare.written  # type: ignore[attr-defined]
    return written


def assert_hundreds_that_programs_have(framework: Framework, counted: Sequence[tuple[str, str, int]]) -> None:
    """Check that there are at least 400 pairs, all of which occur in counted programs."""
    pairs = pairs_of(framework)
    assert len(pairs) >= LEAST_PAIRS
    assert pairs <= {(first, second) for first, second, _ in counted}


def assert_reasons_are_counted(framework: Framework) -> None:
    library.assert_small(framework, SUITE)
    library.assert_reasons_are_counted(library.left_out_of(framework, SUITE))


def assert_the_first_function_is_called(device: Device, framework: Framework, first: str, other: str) -> None:
    """Check that the pairs of a first function fail if this function is replaced, except pairs whose second function
    hides the change."""
    pairs = [case for case in framework.load_suites()[SUITE].cases if first_of(written_of(case)).function == first]
    swapped = [written_of(case).replace(json.dumps(first), json.dumps(other)) for case in pairs]
    outcomes = [
        run(device, dataclasses.replace(case, prepare=type(case.prepare)(written)))  # type: ignore[call-arg]
        for case, written in zip(pairs, swapped, strict=True)
    ]
    assert any(outcome.verdict is Verdict.failed for outcome in outcomes)


def assert_drawn_as_stored(suite: PairSuite, first: str, second: str, folder: Path) -> None:
    """Check that a pair that is drawn again gives the stored cases and arrays."""
    suite.draw_one(f"{first} {second}", suite.cases(), folder / "0000.npz")
    new = Pack(folder / "0000.npz")
    stored = Pack(suite.suites / SUITE / PACK)
    stored_cases = [
        case for case in stored.cases if case["function"] == second and case["name"].startswith(f"after-{first}-")
    ]
    assert sorted(new.cases, key=lambda case: str(case["name"])) == stored_cases
    digests = {digest for case in stored_cases for digest in (*case["arrays"], *case["expected"])}
    assert digests
    assert all((new.array(digest) == stored.array(digest)).all() for digest in digests)
