"""Labels of real failures: what the file must be, and how the rules do on it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bench.truth.causes import HALVES, Label, accuracy, labels
from bench.truth.plants import HONEST, SEEN, is_one_of, verdicts_of
from protocol.enums import Cause
from tests.frameworks.common.host_work import HONEST as HONEST_CALLS
from tests.frameworks.common.host_work import PLANTS

PROJECT = Path(__file__).resolve().parents[3]
NEW_CAUSES = {"host_work", "not_this_device"}
FLOORS = {"seen": 0.99, "heldout": 0.93}
"""The share of each half that the rules name rightly; it may only go up."""


def normalize(message: str) -> str:
    """The message without what differs from one time to the next."""
    return re.sub(r"\s+", " ", re.sub(r"0x[0-9a-f]+|\d+", "N", message.lower())).strip()


EVERY: list[tuple[str, Label]] = [(half, label) for half in HALVES for label in labels(half)]


def test_a_hundred_are_kept_apart_and_others_were_added_to_those_that_may_be_read() -> None:
    assert {half: len(labels(half)) for half in HALVES} == {"seen": 221, "heldout": 100}


def test_ids_are_unique_and_no_message_stands_in_both_halves() -> None:
    assert len({label.id for _, label in EVERY}) == len(EVERY)
    seen_messages, heldout = ({normalize(label.message) for half, label in EVERY if half == name} for name in HALVES)
    assert not seen_messages & heldout


@pytest.mark.parametrize("label", [label for _, label in EVERY], ids=lambda label: label.id)
def test_a_label_says_what_where_and_why(label: Label) -> None:
    assert label.framework in ("torch", "tensorflow", "jax")
    assert re.fullmatch(r"[\w.-]+/[\w.-]+#\d+", label.source)
    assert {label.cause, *label.also} <= {*Cause, *NEW_CAUSES}
    assert label.cause not in label.also
    assert 0 < len(label.message) <= 1000
    assert label.device
    assert label.why


@pytest.mark.parametrize("half", HALVES)
def test_rules_name_no_fewer_rightly_than_before(half: str) -> None:
    figure = accuracy(half, labels(half))
    assert figure.value is not None
    assert figure.value >= FLOORS[half] - 1e-9, figure.detail


def test_the_half_kept_apart_is_told_in_counts_alone() -> None:
    assert "wrong" in accuracy("seen", labels("seen")).detail
    heldout = accuracy("heldout", labels("heldout"))
    assert not any(label.id in str(heldout.detail) for label in labels("heldout"))


def test_a_plant_is_seen_if_its_test_passed() -> None:
    report = """<testsuites><testsuite name="pytest" tests="3">
        <testcase classname="test_plants" name="test_a_plant[tolist]"/>
        <testcase classname="test_plants" name="test_a_plant[item]"><failure message="on_device"/></testcase>
        <testcase classname="test_plants" name="test_a_plant[threads]"><skipped message="not here"/></testcase>
    </testsuite></testsuites>"""
    assert verdicts_of(report) == {
        "test_a_plant[tolist]": True,
        "test_a_plant[item]": False,
        "test_a_plant[threads]": False,
    }


@pytest.mark.parametrize("framework", ["torch", "tensorflow", "jax"])
def test_every_framework_has_plants_and_honest_calls(framework: str) -> None:
    text = (PROJECT / "tests" / "frameworks" / framework / "test_plants.py").read_text()
    tests = re.findall(r"^def (test_\w+)", text, re.MULTILINE)
    for ending in (SEEN, HONEST):
        assert any(is_one_of(f"{test}[by itself]", ending) for test in tests)
    assert not any(is_one_of(test, SEEN) and is_one_of(test, HONEST) for test in tests)


def test_the_list_that_all_frameworks_share_is_long_and_each_name_stands_once() -> None:
    assert len(PLANTS) >= 60
    assert len(HONEST_CALLS) >= 30
    names = [trial.name for trial in (*PLANTS, *HONEST_CALLS)]
    assert len(names) == len(set(names))
