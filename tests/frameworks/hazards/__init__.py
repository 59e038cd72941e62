"""Hazards: a framework whose functions go wrong in every way that a real one can.

Found through the entry point in ``hazards-0.dist-info`` when ``tests/frameworks`` is on
PYTHONPATH, as a third party's framework would be.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runners.suite.cases import Function
    from runners.suite.device import Device

NAME = "hazards"
DEVICES: Mapping[str, Mapping[str, str]] = {
    "cpu": {"HAZARDS_DEVICE": "cpu"},
    "absent": {},
    "unprimable": {},
    "dying": {},
    "broken": {"HAZARDS_BROKEN": "1"},
    "unwatched": {},
}


def device(name: str) -> Device:
    from hazards.device import Host

    return Host(name)


def suites() -> Mapping[str, Sequence[Function]]:
    from hazards import cases

    return {"hazards": cases.FUNCTIONS}
