"""Where a case ran is claimed from arrays, fallbacks and executions together; what nobody counted proves nothing."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest

from protocol.enums import Placement, Unproven
from runners.suite.cases import Case, Function
from runners.suite.checks import Leaf
from runners.suite.device import Device, Proof
from runners.suite.placement import ProvenPlacement, place


class Accelerator:
    """The two things that a placement asks of a device."""

    is_host = False

    def on_device(self, device: str) -> bool:
        return device == "npu:0"


class Host(Accelerator):
    is_host = True


DEVICE = cast(Device, Accelerator())
HOST = cast(Device, Host())


def case(**options: Any) -> Case:
    function = Function("npu.add", reference=np.add, **options)
    function.value("plain", lambda inputs: (inputs.normal(4),))
    return function.cases[-1]


def refusing() -> Case:
    function = Function("npu.add")
    function.behaviour("refused", lambda inputs: (), lambda result: None, refuses=True)
    return function.cases[-1]


def arrays(*devices: str) -> list[Leaf]:
    return [Leaf(np.zeros(2), "float64", device) for device in devices]


ON_DEVICE, FELL_BACK = ProvenPlacement(Placement.on_device), ProvenPlacement(Placement.fell_back)


def unknown(reason: Unproven) -> ProvenPlacement:
    return ProvenPlacement(Placement.unknown, reason)


@pytest.mark.parametrize(
    ("proof", "out", "expected_place"),
    [
        (Proof({"npu:0"}, counted=True, executed=1), ["npu:0"], ON_DEVICE),
        (Proof({"npu:0"}, counted=True, executed=1, doubts={Unproven.one_kernel}), ["npu:0"], ON_DEVICE),
        (Proof({"npu:0"}, counted=True, executed=0), ["npu:0"], unknown(Unproven.nothing_executed)),
        (Proof({"npu:0"}, counted=True), ["npu:0"], unknown(Unproven.executions_not_counted)),
        (Proof({"npu:0"}), ["npu:0"], unknown(Unproven.nobody_looked)),
        (Proof({"npu:0"}, executed=1), ["npu:0"], unknown(Unproven.nobody_looked)),
        (Proof(counted=True, executed=1), [], unknown(Unproven.no_array)),
        (Proof({"npu:0", "cpu"}, counted=True, executed=1), ["npu:0"], unknown(Unproven.array_elsewhere)),
        (Proof({"npu:0"}, executed=0, doubts={Unproven.one_kernel}), ["npu:0"], unknown(Unproven.one_kernel)),
        (Proof({"npu:0"}, executed=2, doubts={Unproven.number_in_kernel}), [], unknown(Unproven.number_in_kernel)),
        (Proof({"npu:0"}, doubts={Unproven.watched_call_failed}), [], unknown(Unproven.watched_call_failed)),
        (Proof(counted=True, executed=1, doubts={Unproven.no_time}), [], unknown(Unproven.no_time)),
        (Proof({"npu:0"}, counted=True, executed=1, doubts={Unproven.no_time}), ["npu:0"], ON_DEVICE),
        (
            Proof({"npu:0"}, executed=0, doubts={Unproven.number_in_kernel, Unproven.tensor_subclass}),
            [],
            unknown(Unproven.tensor_subclass),
        ),
        (Proof({"npu:0"}, {"npu::sort": 1}), ["npu:0"], FELL_BACK),
        (Proof({"npu:0"}, {"npu::sort": 1}, counted=True, executed=7), ["npu:0"], FELL_BACK),
        (Proof({"npu:0", "cpu"}), ["cpu"], FELL_BACK),
    ],
)
def test_only_what_was_counted_is_on_the_device(proof: Proof, out: list[str], expected_place: ProvenPlacement) -> None:
    assert place(DEVICE, case(), proof, arrays(*out)) == expected_place


@pytest.mark.parametrize(
    ("proof", "expected_place"),
    [
        (Proof({"cpu"}, counted=True), ON_DEVICE),
        (Proof({"cpu"}, {"npu::sort": 1}, counted=True), ON_DEVICE),
        (Proof(counted=True), unknown(Unproven.no_array)),
        (Proof({"cpu"}), unknown(Unproven.nobody_looked)),
    ],
)
def test_on_the_host_nothing_falls_back_to_it(proof: Proof, expected_place: ProvenPlacement) -> None:
    assert place(HOST, case(), proof, arrays("host")) == expected_place


@pytest.mark.parametrize("device", [DEVICE, HOST])
def test_a_refusal_shows_nothing_of_a_device(device: Device) -> None:
    proof = Proof({"npu:0"}, counted=True, executed=1)
    assert place(device, refusing(), proof, []) == unknown(Unproven.refuses)


def test_executions_add_up_and_a_count_of_none_is_no_absence_of_a_count() -> None:
    proof = Proof()
    assert proof.executed is None
    proof.executions(0)
    assert proof.executed == 0
    proof.executions(2)
    proof.executions(1)
    assert proof.executed == 3


def test_nothing_is_counted_unless_somebody_says_so() -> None:
    assert not Proof().counted


def test_what_never_touches_a_device_needs_no_count() -> None:
    assert place(DEVICE, case(host_only="it reads a shape"), Proof(), []) == ProvenPlacement(Placement.host_only)


class AskingForHost:
    """The preparation of an example that asks for an array on the host."""

    names_host = True

    def __call__(self, context: Any, *arguments: Any) -> Any:
        raise NotImplementedError


def test_an_array_that_the_case_itself_puts_on_the_host_is_no_fallback() -> None:
    proof, result = Proof({"npu:0", "cpu"}, counted=True, executed=1), arrays("npu:0", "cpu")
    assert place(DEVICE, case(), proof, result) == FELL_BACK
    assert place(DEVICE, case(prepare=AskingForHost()), proof, result) == unknown(Unproven.array_elsewhere)
    proof.fallbacks["aten::isin"] = 1
    assert place(DEVICE, case(prepare=AskingForHost()), proof, result) == FELL_BACK
