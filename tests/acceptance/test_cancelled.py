"""On every surface, a campaign that was cancelled half-way looks no better than the complete campaign."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.portolan_process import Portolan
from tests.waiting import until

FUNCTIONS = ("hazards.subtract", "hazards.other_of")
"""In the first campaign all cases pass. In the second campaign two cases pass, then one hangs, and later ones would
fail."""
PASSED = 3


@pytest.fixture(scope="module")
def portolan() -> Iterator[Portolan]:
    """A coordinator with two campaigns: campaign 1 is complete, campaign 2 was cancelled while a case hung."""
    folder = Path(tempfile.mkdtemp(prefix="portolan-"))
    folder.chmod(0o711)
    portolan = Portolan(folder / "data")
    up = portolan.up("--targets", "hazards/cpu", "--port", "0")
    submit = ["submit", "--suite", "hazards", "--runs", "1", "--functions", " ".join(FUNCTIONS)]
    try:
        portolan.ask(*submit, "--timeout", "2", "--wait")
        cut = portolan.ask(*submit).strip()
        until(lambda: _passed_jobs(portolan, cut) == PASSED, "it hangs at the fourth case")
        portolan.ask("cancel", cut)
        yield portolan
    finally:
        assert up.stop() == 0, up.said
        shutil.rmtree(folder)


def _passed_jobs(portolan: Portolan, campaign: str) -> int:
    """The number of jobs of a campaign that have passed so far."""
    of = json.loads(portolan.ask("status", campaign, "--json"))
    return int(of["counters"]["passed"])


def test_a_function_that_misses_cases_passes_no_more_and_the_first_lines_say_so(portolan: Portolan) -> None:
    whole, cut = (portolan.ask("results", campaign) for campaign in "12")
    assert "1 of 2 functions pass every case (50 %" in whole
    assert "The campaign was cancelled" not in whole
    assert "The campaign was cancelled: 5 jobs never ran" in cut
    assert (
        "Results are missing: 5 cases of 1 of 2 functions ended without a result, because the campaign was cancelled"
        in cut
    )
    assert "1 of 1 function passes every case" in cut
    assert "1 more lacks results of some cases, so the rate over all 2 is between 50 and 100 %." in cut
    assert "hazards.other_of" in cut
    assert "cancelled (1)" in cut


def test_a_comparison_names_what_was_lost_and_a_gate_fails_on_it(portolan: Portolan) -> None:
    output = portolan.ask("compare", "1", "2")
    assert re.search(r"lost: hazards\.other_of: fails some \d/\d \(\w+\) → no verdict 2/2", output), output
    assert portolan.call("compare", "1", "2", "--fail-on", "lost").returncode == 1
