"""The first use of the device in the process of a case that decides it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from protocol.enums import FirstUse
from runners.isolation.first_use import use_first
from runners.suite.cases import Case, Function
from runners.suite.checks import Leaf
from runners.suite.device import Description, Device
from runners.suite.trees import mapped
from tests.unit.runners.isolation.plain_device import PlainDevice


class RecordingDevice(PlainDevice):
    """NumPy as a device that records its uses: whether each was in the main thread."""

    mends = ()

    def __init__(self, name: str, uses: list[tuple[str, bool]], *, is_broken: bool = False) -> None:
        super().__init__(name)
        self.is_host = name == "host"
        self.uses = uses
        self.is_broken = is_broken

    def describe(self) -> Description:
        raise NotImplementedError

    def prime(self) -> None:
        self.uses.append((f"{self.name} primed", threading.current_thread() is threading.main_thread()))
        if self.is_broken:
            raise RuntimeError("the device does not open")

    def to_host(self, tree: Any) -> Any:
        return mapped(tree, lambda leaf: Leaf(leaf, str(leaf.dtype), self.name), np.ndarray)

    def lookup(self, name: str) -> Callable[..., Any]:
        def function(array: Any) -> Any:
            self.uses.append((f"{self.name} called", threading.current_thread() is threading.main_thread()))
            if self.is_broken:
                raise RuntimeError("the call fails")
            return -array

        return function

    def host(self) -> Device | None:
        return RecordingDevice("host", self.uses, is_broken=self.is_broken)


def case_with(first_use: FirstUse) -> Case:
    function = Function("arrays.negative", reference=np.negative)
    function.value("plain", lambda inputs: [inputs.normal(2)])
    return replace(function.cases[0], tags=(*function.cases[0].tags, first_use.value))


@pytest.mark.parametrize(("first_use", "uses"), [
    (FirstUse.host_first, [("host called", True), ("npu primed", True)]),
    (FirstUse.thread_first, [("npu primed", False)]),
    (FirstUse.unprimed, []),
])  # fmt: skip
@pytest.mark.parametrize("is_broken", [False, True])
def test_the_device_is_first_used_as_the_case_says_and_errors_are_left_to_the_case(
    first_use: FirstUse, uses: list[tuple[str, bool]], is_broken: bool
) -> None:
    device = RecordingDevice("npu", [], is_broken=is_broken)
    init_ms = use_first(device, case_with(first_use))
    assert device.uses == uses
    assert (init_ms > 0) is (first_use is not FirstUse.unprimed)


def test_on_the_host_itself_the_call_comes_first_too() -> None:
    device = RecordingDevice("host", [])
    use_first(device, case_with(FirstUse.host_first))
    assert device.uses == [("host called", True), ("host primed", True)]
