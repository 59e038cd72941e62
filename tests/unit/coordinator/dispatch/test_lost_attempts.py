"""A lost attempt blames the device only if nothing else can be the reason."""

from __future__ import annotations

import pytest

from coordinator.dispatch.lost_attempts import consequence


@pytest.mark.parametrize(
    ("reasons", "amounts_to"),
    [
        (["silent"], "retry"),
        (["silent", "restarted"], "retry"),
        (["silent"] * 3, "infrastructure"),
        (["restarted"] * 3, "crash"),
        (["silent", "restarted", "silent"], "infrastructure"),
    ],
)
def test_what_becomes_of_a_job_whose_attempts_were_lost(reasons: list[str], amounts_to: str) -> None:
    assert consequence(reasons) == amounts_to
