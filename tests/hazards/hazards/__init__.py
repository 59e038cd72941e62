"""Hazards: a framework whose functions fail in every way in which a real framework can fail.

It is found through the entry point in ``hazards-0.dist-info`` when ``tests/hazards`` is on PYTHONPATH, like a framework
of another vendor.
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
