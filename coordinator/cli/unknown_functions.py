"""Charts the functions that a user's code calls and that have no evidence: chooses suites, submits campaigns, and
waits."""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from secrets import token_hex

from coordinator.assess.names import all_names
from coordinator.campaigns.models import CampaignDetail
from coordinator.catalogue.models import MOST_DRAWN, SuiteList
from coordinator.cli.outage_watch import OutageWatch, submit_and_announce
from coordinator.cli.progress import Board
from coordinator.cli.rest_client import Client
from coordinator.errors import AssessmentError
from coordinator.figures.formats import join_words, plural
from coordinator.targets.selectors import Selector
from protocol.enums import CONFORMANCE_SUITE

FIRST = ("library", "paper")
"""The preferred suites, which have cases written for testing. The suite of docstrings has only one example per
function."""
NAMED = 5
"""The maximum number of targets or functions in a message."""


def chart_unknown(client: Client, unknown: Collection[str], selector: Selector) -> None:
    """Chart the functions for which a live runner of the target has cases, and report how many have none.

    Raises ``AssessmentError`` if no runner of the target is live.
    """
    functions = functions_by_suite(unknown, selector, client.catalogue())
    names = {name for of_suite in functions.values() for name in of_suite}
    without = [name for name in unknown if not names & all_names(name)]
    if without:
        print(f"no suite of {selector} has a case of {join_words(without, NAMED)}", file=sys.stderr)
    for suite, of_suite in functions.items():
        request = {"suite": suite, "targets": [str(selector)], "functions": of_suite, "runs": 1, "name": "assess"}
        with submit_and_announce(client.url, partial(client.submit, request, token_hex(16))) as campaign:
            print(
                f"campaign {campaign.id} charts {plural(len(of_suite), 'function')} with the suite {suite}",
                file=sys.stderr,
            )
            _wait(client, campaign)


def functions_by_suite(unknown: Collection[str], selector: Selector, catalogue: SuiteList) -> Mapping[str, list[str]]:
    """For each suite, the functions that it charts, under their names in the suite."""
    suite_functions: dict[str, set[str]] = {}
    targets: set[str] = set()
    for suite in catalogue.suites:
        targets |= set(suite.targets)
        if suite.suite != CONFORMANCE_SUITE and any(map(selector.matches_name, suite.targets)):
            suite_functions.setdefault(suite.suite, set()).update(function.function for function in suite.functions)
    if not suite_functions:
        raise AssessmentError(
            f"no online runner matches {selector} (online: {join_words(sorted(targets), NAMED) or 'none'}): "
            f"start one with `portolan up --targets {selector}`"
        )
    by_suite: dict[str, list[str]] = {}
    for function in unknown:
        names = all_names(function)
        for suite_name in _by_preference(suite_functions):
            if own := sorted(names & suite_functions[suite_name]):
                by_suite.setdefault(suite_name, []).append(function if function in own else own[0])
                break
    return {suite_name: list(dict.fromkeys(names))[:MOST_DRAWN] for suite_name, names in by_suite.items()}


def _by_preference(suites: Collection[str]) -> Sequence[str]:
    return sorted(suites, key=lambda suite: (FIRST.index(suite) if suite in FIRST else len(FIRST), suite))


def _wait(client: Client, campaign: CampaignDetail) -> None:
    with Board() as board:
        watch = OutageWatch(board.say, client.url, campaign.id)
        for latest in watch.follow(client, campaign.id):
            board.show(latest.by_target)
