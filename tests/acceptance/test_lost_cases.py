"""On every surface, a campaign that lost its runner half-way looks no better than the complete campaign."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from protocol.enums import JUDGED_BY, Judge
from tests import bundles
from tests.portolan_process import Portolan

FUNCTIONS = ("hazards.add", "hazards.subtract")
ADD, SUBTRACT = FUNCTIONS


@pytest.fixture(scope="module")
def portolan() -> Iterator[Portolan]:
    """Campaign 1 is complete, and 'hazards.add' fails in one case. In campaign 2 only the first case of each function
    ran."""
    folder = Path(tempfile.mkdtemp(prefix="portolan-"))
    folder.chmod(0o711)
    whole, lossy_bundle = folder / "whole.bundle", folder / "lost.bundle"
    lines = bundles.lines_of(bundles.make(whole, functions=FUNCTIONS, runs=1).read_bytes())
    for case in lines[0]["suite"]["cases"]:
        case["tags"].append(f"{JUDGED_BY}{Judge.numpy}")
    whole.write_bytes(bundles.sealed(lines))
    lossy_bundle.write_bytes(bundles.sealed(without_all_but_first(lines)))
    portolan = Portolan(folder / "data")
    up = portolan.up("--targets", "", "--port", "0")
    for bundle in (whole, lossy_bundle):
        portolan.ask("import", "--unsigned", str(bundle))
    yield portolan
    assert up.stop() == 0, up.said
    shutil.rmtree(folder)


def without_all_but_first(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The bundle of a run in which the device could not be used any more after each function's first case."""
    functions = {case["id"]: case["function"] for case in lines[0]["suite"]["cases"]}
    begun_functions = set[str]()
    for line in lines[1:]:
        function = functions[line["case"]]
        if function in begun_functions:
            evidence = {"exception": None, "message": None, "reason": "the device was lost", "stage": "prime"}
            line["outcome"] |= {
                "verdict": "incomplete",
                "ending": "harness_failed",
                "placement": "unknown",
                "evidence": evidence,
            }
        begun_functions.add(function)
    return lines


def test_a_function_that_misses_cases_is_unknown_and_the_first_line_says_how_many_are(portolan: Portolan) -> None:
    whole, lossy = (portolan.ask("results", str(campaign)) for campaign in (1, 2))
    assert "1 of 2 functions pass every case (50 %" in whole
    assert "Results are missing" not in whole
    missing = lossy.index("Results are missing: 3 cases of 1 of 2 functions ended without a result")
    assert missing < lossy.index("1 of 1 function passes every case"), "the rate comes after what it leaves out"
    assert "1 more lacks results of some cases, so the rate over all 2 is between 50 and 100 %." in lossy


def test_only_what_ran_was_judged(portolan: Portolan) -> None:
    assert "Of 5 cases that ran, 5 by numpy" in portolan.ask("results", "1")
    assert "Of 2 cases that ran, 2 by numpy" in portolan.ask("results", "2")


def test_the_page_of_the_campaign_says_what_is_incomplete_and_why(portolan: Portolan) -> None:
    url = portolan.ask("login", "--link").partition("/login")[0]
    whole, lossy = (httpx.get(f"{url}/campaigns/{number}").raise_for_status().text for number in (1, 2))
    assert 'id="incomplete"' not in whole
    section = lossy.partition('id="incomplete"')[2].partition("</section>")[0]
    assert "the device was lost" in section
    assert f"/functions/hazards/{ADD}" in section


def test_a_comparison_names_what_was_lost_and_a_gate_fails_on_it(portolan: Portolan) -> None:
    output = portolan.ask("compare", "1", "2", "--fail-on", "regression")
    assert "1 without a result on B" in output
    assert re.search(rf"lost: {ADD}: fails some 3/4 \(\w+\) → no verdict 1/1: 3 without a result on B", output)
    assert portolan.call("compare", "1", "2", "--fail-on", "lost").returncode == 1
    assert portolan.call("compare", "2", "1", "--fail-on", "lost").returncode == 0
