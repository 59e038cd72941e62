"""The coordinator's waiting times: defaults equal the documentation's, and settings change them by name."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from coordinator.configuration.settings import Settings
from coordinator.configuration.times import TIMES, Times
from coordinator.configuration.variables import variables
from coordinator.conformance.times import CHECK_TIMES, CheckTimes
from coordinator.errors import SettingError
from tests.short_times import IMPATIENT_TIMES, variables_of

DOCS = Path(__file__).parents[4] / "docs" / "reference" / "settings.md"


@pytest.mark.parametrize(("heading", "kind"), [("Times", Times), ("Times of a check", CheckTimes)])
def test_every_time_stands_in_the_docs_with_its_default_and_no_other_does(
    heading: str, kind: type[Times] | type[CheckTimes]
) -> None:
    section = DOCS.read_text().partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    documented_times: dict[str, float] = {}
    for names, defaults in re.findall(r"^\| (`[^|]+`) \| ([^|]+) \|", section, re.MULTILINE):
        seconds = [float(default.replace(",", "")) for default in defaults.split(", ")]
        documented_times |= dict(zip(re.findall(r"`(\w+)`", names), seconds, strict=True))
    assert documented_times == {field.name: field.default for field in fields(kind)}


def test_times_are_set_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Times.parse(" silence_s=3, sweep_s = 1.5,") == Times(silence_s=3.0, sweep_s=1.5)
    assert Times.parse("") == Times()
    monkeypatch.setenv(TIMES, "grace_s=30")
    assert Settings("postgresql://nowhere").times == Times(grace_s=30.0)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("silence=3", "there is no time 'silence'; choose one of: silence_s, "),
        ("silence_s", "silence_s is ''"),
        ("silence_s=0", "give seconds from 0.001 to 86,400"),
        ("silence_s=-1", "give seconds"),
        ("silence_s=nan", "give seconds"),
        ("silence_s=1e9", "give seconds"),
        ("silence_s=soon", "silence_s is 'soon'"),
        ("ownership_s=5", "renew_s is 5 and ownership_s 5: give a renew_s that is less"),
        ("renew_s=121, ownership_s=300", "renew_s is 121 and lease_s 120"),
    ],
)
def test_a_time_that_is_none(text: str, words: str) -> None:
    with pytest.raises(SettingError, match=f"^{TIMES}: .*{re.escape(words)}"):
        Times.parse(text)


def test_the_times_of_a_check_are_set_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CHECK_TIMES, "lasting_s=120")
    assert CheckTimes.parse(variables().check_times) == CheckTimes(lasting_s=120.0)
    with pytest.raises(SettingError, match=f"{CHECK_TIMES}: lasting_s is 5 and heartbeat_s 10"):
        CheckTimes.parse("lasting_s=5")


def test_what_a_test_gives_a_coordinator_comes_there_as_it_is() -> None:
    assert Times.parse(variables_of(IMPATIENT_TIMES)[TIMES]) == IMPATIENT_TIMES
    assert variables_of(Times()) == {}
