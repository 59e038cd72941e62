"""The attribution of an accusation: whether a failure or a fallback is the function's doing.

An outcome that accuses is repeated on the device and on the host after it was explained (``explanation.py``) and
reported, as a repetition may end the process. An example whose function got other inputs than on the host is not
judged. A function whose result is on the host by its nature has read an array because its caller wants that there.
Nothing here raises.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from protocol.enums import Ending, Placement, Repetition, TimingPolicy, Unproven, Verdict
from runners.isolation.explanation import EXPLAINED, host_of
from runners.isolation.harness import Alone, ObservedAttempt, prepared_call
from runners.isolation.observations import Observation, make_evidence
from runners.suite.cases import Case, Context
from runners.suite.checks import leaves
from runners.suite.device import Device
from runners.suite.frozen_example import ExampleReadings, FrozenExample
from runners.suite.placement import HOST_ARRAYS
from runners.suite.readings import arrays_of
from runners.suite.trees import numbers_in

_READS = "host read "
"""How the name of a fallback begins that is no operation, but a read by the host."""


def accuses(observation: Observation) -> bool:
    """Whether an observation accuses the function of a failure or a fallback."""
    return observation.ending in EXPLAINED or observation.placement is Placement.fell_back


def attribute(device: Device, case: Case, observation: Observation) -> Observation:
    """The observation, unless it accuses the function of something that the function did not do."""
    host = host_of(device)
    if host is None or not accuses(observation) or case.host_only is not None or _fails_on_host(observation):
        return observation
    try:
        reason = _others_fault(device, host, case, observation)
        if reason is not None:
            return _not_judged(observation, reason)
        if _is_read_for_caller(host, case, observation):
            return _read_for_caller(observation)
    except BaseException:  # a repetition may raise anything, SystemExit among it
        return observation
    return observation


def _fails_on_host(observation: Observation) -> bool:
    """Whether the explanation says already that no device is to blame."""
    evidence = observation.evidence
    if evidence is None:
        return False
    return evidence.on_host is Repetition.failed_alike or evidence.in_graph not in (None, Repetition.passed)


def _others_fault(device: Device, host: Device, case: Case, observation: Observation) -> str | None:
    """Why another line of the example is to blame; None if it may be the function."""
    example = case.prepare
    if not isinstance(example, FrozenExample):
        return None
    here = _readings(device, case, example)
    if observation.ending in EXPLAINED:
        there = _readings(host, case, example)
        reason = example.fault_of_others(case, here, there, partial(_readings, host, case, example, reseeded=True))
        if reason is not None:
            return reason
    return next(_inputs_elsewhere(device, here), None) or _device_not_asked(observation, here)


def _readings(device: Device, case: Case, example: FrozenExample, *, reseeded: bool = False) -> ExampleReadings:
    attempt = ObservedAttempt(device, case, TimingPolicy.off, Alone())
    with device.scope(case.dtype):
        context = attempt.begin()
        assert isinstance(context, Context)
        device.seed(case.seed + reseeded)
        return example.readings(context, reseeded=reseeded)


def _inputs_elsewhere(device: Device, readings: ExampleReadings) -> Iterator[str]:
    for label, reading in readings.inputs.items():
        for array in arrays_of(reading):
            if not device.on_device(array.device):
                yield f"an input of the function lies on {array.device}, where another line left it: {label}"


def _device_not_asked(observation: Observation, readings: ExampleReadings) -> str | None:
    """The reason if a function takes no array and makes its own on the host, as it would on any device."""
    proof = observation.proof
    is_host_alone = proof.executed == 0 and all(name.endswith(HOST_ARRAYS) for name in proof.fallbacks)
    if observation.placement is not Placement.fell_back or not is_host_alone:
        return None
    if any(True for reading in readings.inputs.values() for _ in arrays_of(reading)):
        return None
    return "the function takes no array here and makes its own on the host; nothing was asked of the device"


def _not_judged(observation: Observation, reason: str) -> Observation:
    return replace(
        observation,
        verdict=Verdict.skipped,
        ending=Ending.not_applicable,
        placement=Placement.unknown,
        evidence=make_evidence(stage="call", reason=reason),
    )


def _is_read_for_caller(host: Device, case: Case, observation: Observation) -> bool:
    """Whether only reads accuse the function, and the same call returns no array of the framework on the host."""
    if observation.placement is not Placement.fell_back:
        return False
    if not all(name.startswith(_READS) for name in observation.proof.fallbacks):
        return False
    call = prepared_call(host, case)
    if call is None:
        return False
    with host.scope(case.dtype):
        result = host.to_host(call())
    own_values = getattr(case.prepare, "own_values", lambda observed: observed)
    return is_of_host(own_values(result))


def is_of_host(result: Any) -> bool:
    """Whether a result holds arrays of NumPy, texts or several numbers, and no array of the framework."""
    arrays = leaves(result)
    if any(array.device != "host" for array in arrays):
        return False
    return bool(arrays) or isinstance(result, (np.ndarray, np.generic)) or numbers_in(result) > 1


def _read_for_caller(observation: Observation) -> Observation:
    proof = replace(observation.proof, unproven=Unproven.result_on_host)
    return replace(observation, placement=Placement.unknown, proof=proof)
