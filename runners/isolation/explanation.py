"""Explaining a failure by structure: the operation in flight, its kernels, and the same call elsewhere.

The calls here repeat what has just failed, in the process where it failed: a fork would be an outcome's best
protection, but no framework survives one once its device works (torch_xla hangs, TensorFlow and JAX lose their
threads). So the outcome as it stood is reported first, and a repetition that kills, hangs or floods its process
costs the rest of the explanation and nothing else. Nothing here raises.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from protocol.enums import Ending, Repetition, TimingPolicy
from runners.isolation.harness import Alone, prepared_call, repetition, run_case
from runners.isolation.likeness import are_alike
from runners.isolation.observations import Observation, ObservedEvidence, with_operation
from runners.suite.cases import Case
from runners.suite.checks import TOLERANCES
from runners.suite.device import Device, Operation
from runners.suite.trees import mapped

EXPLAINED = frozenset({Ending.raised, Ending.mismatched, Ending.accepted})
"""Endings for which the function or the device is to blame, in a process that is still alive."""
SINGLE = "float32"
"""The dtype that every device computes in."""


def add_explanation(device: Device, case: Case, observation: Observation) -> Observation:
    """The observation completed by repetitions of the failed call; unchanged if there is nothing to explain."""
    explained = observation
    for completed in explanations(device, case, observation):
        explained = completed
    return explained


def explanations(device: Device, case: Case, observation: Observation) -> Iterator[Observation]:
    """The observation, more complete after each repetition of the failed call."""
    evidence = observation.evidence
    if observation.ending not in EXPLAINED or evidence is None:
        return
    # A graph often refuses a call before anything is computed, and on the host a heavy one may pass its time limit.
    for explain in (_in_graph, _on_host, _operation, _in_float32):
        evidence = _or_else(evidence, explain, device, case, observation)
        yield replace(observation, evidence=evidence)


def _or_else(
    evidence: ObservedEvidence,
    explain: Callable[[ObservedEvidence, Device, Case, Observation], ObservedEvidence],
    device: Device,
    case: Case,
    observation: Observation,
) -> ObservedEvidence:
    try:
        return explain(evidence, device, case, observation)
    except BaseException:  # a repetition may raise anything, SystemExit among it
        return evidence


def _operation(evidence: ObservedEvidence, device: Device, case: Case, observation: Observation) -> ObservedEvidence:
    """The operation at which the call fails again; for a wrong result, the first whose result differs from the
    host's."""
    if observation.ending is not Ending.raised and evidence.exception is None:
        operation = _diverging(device, case)
    else:
        failing = getattr(device, "failing", None)
        operation = failing(repetition(device, case)) if failing else None
    return evidence if operation is None else with_operation(evidence, operation)


def _diverging(device: Device, case: Case) -> Operation | None:
    diverging, host = getattr(device, "diverging", None), host_of(device)
    if diverging is None or host is None:
        return None
    # What moves the inputs is no part of it: arrays that are made under a framework's watch may take another way.
    here, there = prepared_call(device, case), prepared_call(host, case)
    operation: Operation | None = diverging(here, there) if here and there else None
    return operation


def _on_host(evidence: ObservedEvidence, device: Device, case: Case, observation: Observation) -> ObservedEvidence:
    """The result of the same call on the host. If it fails in the same way there, a graph adds nothing."""
    host = host_of(device)
    if host is None:
        return evidence
    on_host = _repeat(host, case, observation)
    return replace(
        evidence, on_host=on_host, in_graph=None if on_host is Repetition.failed_alike else evidence.in_graph
    )


def _in_graph(evidence: ObservedEvidence, device: Device, case: Case, observation: Observation) -> ObservedEvidence:
    """The result of the same call in a graph on the host. If the host refuses it too, the compiler is not to blame."""
    graph: Device | None = getattr(device, "graph", lambda: None)()
    return evidence if graph is None else replace(evidence, in_graph=_repeat(graph, case, observation))


def host_of(device: Device) -> Device | None:
    """The host, if it can be reached and is not this device."""
    host: Device | None = getattr(device, "host", lambda: None)() if not device.is_host else None
    return host


def _in_float32(evidence: ObservedEvidence, device: Device, case: Case, observation: Observation) -> ObservedEvidence:
    single = in_single(case)
    return evidence if single is None else replace(evidence, in_float32=_repeat(device, single, observation))


def in_single(case: Case) -> Case | None:
    """The case in float32; None if float32 is its dtype, or its dtype says nothing about its inputs."""
    single = "complex64" if case.dtype == "complex128" else SINGLE
    if case.dtype in (SINGLE, "complex64", "bool", "string"):
        return None
    integers = np.dtype(case.dtype) if case.dtype.lstrip("u").startswith("int") else None

    def arguments(inputs: Any) -> Sequence[Any]:
        arrays = case.arguments(inputs)
        if integers is None:
            return arrays
        in_double: Sequence[Any] = mapped(
            list(arrays), lambda leaf: leaf.astype(np.float64) if leaf.dtype == integers else leaf, (np.ndarray,)
        )
        return in_double

    return replace(case, dtype=single, tolerance=TOLERANCES[single], arguments=arguments)


def _repeat(device: Device, case: Case, before: Observation) -> Repetition | None:
    """The result of the case on a device, compared with its first result; None if that shows nothing."""
    again = run_case(device, case, TimingPolicy.off, Alone(), position=0, init_ms=0.0)
    if again.ending is Ending.returned:
        return Repetition.passed
    if again.ending not in EXPLAINED or again.evidence is None or before.evidence is None:
        return None
    alike = again.ending is before.ending and are_alike(before.evidence, again.evidence)
    return Repetition.failed_alike if alike else Repetition.failed_otherwise
