"""Decides whether a failure or a fallback is really the function's fault.

The case is repeated on the device and on the host. Before that, the outcome is explained (``explanation.py``) and
reported, because a repetition may end the process. If the function in an example got other inputs than on the host, it
is not judged. If the function's result is always on the host, reading an array there is not a fallback. No function
here raises.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from protocol.enums import Ending, Placement, Repetition, TimingPolicy, Unproven, Verdict
from runners.isolation.explanation import EXPLAINED, host_of
from runners.isolation.harness import FreeTimingLock, ObservedAttempt, prepared_call
from runners.isolation.observations import Observation, make_evidence
from runners.suite.cases import Case, Context
from runners.suite.checks import leaves
from runners.suite.device import Device
from runners.suite.frozen_example import ExampleReadings, FrozenExample
from runners.suite.placement import HOST_ARRAYS
from runners.suite.readings import arrays_of
from runners.suite.trees import numbers_in

_READS = "host read "
"""The prefix of a fallback's name if it is a read by the host and not an operation."""


def accuses(observation: Observation) -> bool:
    """Whether an observation blames the function for a failure or a fallback."""
    return observation.ending in EXPLAINED or observation.placement is Placement.fell_back


def attribute(device: Device, case: Case, observation: Observation) -> Observation:
    """Correct an observation that blames the function for something that is not its fault; otherwise return it."""
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
    """Whether the explanation already shows that the device is not to blame."""
    evidence = observation.evidence
    if evidence is None:
        return False
    return evidence.on_host is Repetition.failed_alike or evidence.in_graph not in (None, Repetition.passed)


def _others_fault(device: Device, host: Device, case: Case, observation: Observation) -> str | None:
    """Return the reason why another line of the example is to blame; None if the function may be to blame."""
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
    attempt = ObservedAttempt(device, case, TimingPolicy.off, FreeTimingLock())
    with device.scope(case.dtype):
        context = attempt.begin()
        assert isinstance(context, Context)
        device.seed(case.seed + reseeded)
        return example.readings(context, reseeded=reseeded)


def _inputs_elsewhere(device: Device, readings: ExampleReadings) -> Iterator[str]:
    for label, reading in readings.inputs.items():
        for array in arrays_of(reading):
            if not device.on_device(array.device):
                yield f"an input of the function is on {array.device}, because another line put it there: {label}"


def _device_not_asked(observation: Observation, readings: ExampleReadings) -> str | None:
    """Return a reason if the function takes no array and computes only with its own arrays on the host; else None."""
    proof = observation.proof
    is_host_alone = proof.executed == 0 and all(name.endswith(HOST_ARRAYS) for name in proof.fallbacks)
    if observation.placement is not Placement.fell_back or not is_host_alone:
        return None
    if any(True for reading in readings.inputs.values() for _ in arrays_of(reading)):
        return None
    return "the function takes no array here and computes only with arrays that it makes on the host, not on the device"


def _not_judged(observation: Observation, reason: str) -> Observation:
    return replace(
        observation,
        verdict=Verdict.skipped,
        ending=Ending.not_applicable,
        placement=Placement.unknown,
        evidence=make_evidence(stage="call", reason=reason),
    )


def _is_read_for_caller(host: Device, case: Case, observation: Observation) -> bool:
    """Whether the only fallbacks are reads, and the same call on the host returns no array of the framework."""
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
    """Whether a result holds NumPy arrays, texts or several numbers, but no array of the framework."""
    arrays = leaves(result)
    if any(array.device != "host" for array in arrays):
        return False
    return bool(arrays) or isinstance(result, (np.ndarray, np.generic)) or numbers_in(result) > 1


def _read_for_caller(observation: Observation) -> Observation:
    proof = replace(observation.proof, unproven=Unproven.result_on_host)
    return replace(observation, placement=Placement.unknown, proof=proof)
