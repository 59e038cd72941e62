"""The data of a suite in a catalogue in addition to its cases: how it is timed."""

from __future__ import annotations

import json

import pytest
from pydantic import ValidationError

from protocol.catalogue import CatalogueSuite
from protocol.enums import TimedCases, TimingPolicy

OLDER = {"name": "library", "revision": "1", "cases": []}


def test_a_runner_that_is_older_than_these_members_says_nothing() -> None:
    suite = CatalogueSuite.model_validate(OLDER)
    assert (suite.timing, suite.timed_cases) == (None, None)


def test_the_timing_of_a_suite_is_read_and_written_again() -> None:
    members = {"timing": "off", "timed_cases": "representative"}
    suite = CatalogueSuite.model_validate(OLDER | members)
    assert (suite.timing, suite.timed_cases) == (TimingPolicy.off, TimedCases.representative)
    assert json.loads(suite.model_dump_json()) == OLDER | members


@pytest.mark.parametrize("member", ["timing", "timed_cases"])
def test_a_word_that_is_no_timing_is_refused(member: str) -> None:
    with pytest.raises(ValidationError, match=member):
        CatalogueSuite.model_validate(OLDER | {member: "sometimes"})
