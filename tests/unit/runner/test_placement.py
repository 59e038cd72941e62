"""Where a case ran is claimed from arrays and a count of fallbacks together; without a count it is unknown."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest

from protocol.enums import Placement
from runners.isolation.harness import placement
from runners.suite.cases import Case, Function
from runners.suite.checks import Leaf
from runners.suite.device import Device, Proof


class Accelerator:
    """The one thing that a placement asks of a device."""

    def on_device(self, device: str) -> bool:
        return device == "npu:0"


DEVICE = cast(Device, Accelerator())


def case(**options: Any) -> Case:
    function = Function("npu.add", reference=np.add, **options)
    function.value("plain", lambda inputs: (inputs.normal(4),))
    return function.cases[-1]


def arrays(*devices: str) -> list[Leaf]:
    return [Leaf(np.zeros(2), "float64", device) for device in devices]


@pytest.mark.parametrize(
    ("proof", "out", "expected"),
    [
        (Proof({"npu:0"}, counted=True), ["npu:0"], Placement.on_device),
        (Proof({"npu:0"}), ["npu:0"], Placement.unknown),
        (Proof(counted=True), [], Placement.unknown),
        (Proof({"npu:0", "cpu"}, counted=True), ["npu:0"], Placement.unknown),
        (Proof({"npu:0"}, {"npu::sort": 1}), ["npu:0"], Placement.fell_back),
        (Proof({"npu:0"}, {"npu::sort": 1}, counted=True), ["npu:0"], Placement.fell_back),
        (Proof({"npu:0", "cpu"}), ["cpu"], Placement.fell_back),
    ],
)
def test_only_what_was_counted_is_on_the_device(proof: Proof, out: list[str], expected: Placement) -> None:
    assert placement(DEVICE, case(), proof, arrays(*out)) is expected


def test_nothing_is_counted_unless_somebody_says_so() -> None:
    assert not Proof().counted


def test_what_never_touches_a_device_needs_no_count() -> None:
    assert placement(DEVICE, case(host_only="it reads a shape"), Proof(), []) is Placement.host_only
