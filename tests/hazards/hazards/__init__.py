"""Hazards: a framework whose functions go wrong in every way that a real one can.

Found through the entry point in ``hazards-0.dist-info`` when ``tests/hazards`` is on
PYTHONPATH, as a third party's framework would be.
"""

from __future__ import annotations

from runners.suite.framework import DeviceDeclaration, Framework

FRAMEWORK = Framework(
    name="hazards",
    devices={
        "cpu": DeviceDeclaration("hazards.device:Host", {"HAZARDS_DEVICE": "cpu"}),
        "absent": DeviceDeclaration("hazards.device:Absent"),
        "unprimable": DeviceDeclaration("hazards.device:Unprimable"),
        "dying": DeviceDeclaration("hazards.device:Dying"),
        "broken": DeviceDeclaration("hazards.device:Host", {"HAZARDS_BROKEN": "1"}),
        "unwatched": DeviceDeclaration("hazards.device:Unwatched"),
    },
    suites={"hazards": "hazards.cases"},
)
