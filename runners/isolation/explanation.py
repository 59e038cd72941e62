"""Explains a failure: names the failing operation and its kernels, and repeats the call in other ways.

The call is repeated in the process where it failed. A forked process would be safer, but no framework survives a fork
after its device was used (torch_xla hangs, TensorFlow and JAX lose their threads). So the failure is reported first. If
a repetition kills or hangs the process or floods its output, only the rest of the explanation is lost. No function here
raises.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from protocol.enums import Ending, Repetition, TimingPolicy
from runners.isolation.harness import FreeTimingLock, prepared_call, repetition, run_case
from runners.isolation.likeness import are_alike
from runners.isolation.observations import Observation, ObservedEvidence, with_operation
from runners.suite.cases import Case
from runners.suite.checks import TOLERANCES
from runners.suite.device import Device, Operation
from runners.suite.trees import mapped

EXPLAINED = frozenset({Ending.raised, Ending.mismatched, Ending.accepted})
"""The endings that blame the function or the device and leave the process alive, so that the call can be repeated."""
SINGLE = "float32"
"""The dtype that every device supports."""


def add_explanation(device: Device, case: Case, observation: Observation) -> Observation:
    """Return the observation with the results of all repetitions; unchanged if there is nothing to explain."""
    explained = observation
    for completed in explanations(device, case, observation):
        explained = completed
    return explained


def explanations(device: Device, case: Case, observation: Observation) -> Iterator[Observation]:
    """Repeat the failed call in several ways. Yields the observation with more evidence after each repetition."""
    evidence = observation.evidence
    if observation.ending not in EXPLAINED or evidence is None:
        return
    # The graph comes first, because it often fails before it computes anything. On the host, a heavy call may time out.
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
    """Add the operation at which the call fails.

    If the result is wrong, add the first operation whose result differs from the host's.
    """
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
    # The inputs are moved before the watch begins, because a watch may change how arrays are made.
    here, there = prepared_call(device, case), prepared_call(host, case)
    operation: Operation | None = diverging(here, there) if here and there else None
    return operation


def _on_host(evidence: ObservedEvidence, device: Device, case: Case, observation: Observation) -> ObservedEvidence:
    """Add the result of the same call on the host. If it fails alike there, drop the result in a graph."""
    host = host_of(device)
    if host is None:
        return evidence
    on_host = _repeat(host, case, observation)
    return replace(
        evidence, on_host=on_host, in_graph=None if on_host is Repetition.failed_alike else evidence.in_graph
    )


def _in_graph(evidence: ObservedEvidence, device: Device, case: Case, observation: Observation) -> ObservedEvidence:
    """Add the result of the same call in a graph on the host. If it fails there too, the compiler is not to blame."""
    graph: Device | None = getattr(device, "graph", lambda: None)()
    return evidence if graph is None else replace(evidence, in_graph=_repeat(graph, case, observation))


def host_of(device: Device) -> Device | None:
    """Return the host as a device; None if this device is the host, or the process cannot use the host."""
    host: Device | None = getattr(device, "host", lambda: None)() if not device.is_host else None
    return host


def _in_float32(evidence: ObservedEvidence, device: Device, case: Case, observation: Observation) -> ObservedEvidence:
    single = in_single(case)
    return evidence if single is None else replace(evidence, in_float32=_repeat(device, single, observation))


def in_single(case: Case) -> Case | None:
    """Return the case in float32 (or complex64); None if that is its dtype, or if it has no numeric dtype."""
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
    """Run the case on a device and compare with its first result. None if the repetition shows nothing."""
    again = run_case(device, case, TimingPolicy.off, FreeTimingLock(), position=0, init_ms=0.0)
    if again.ending is Ending.returned:
        return Repetition.passed
    if again.ending not in EXPLAINED or again.evidence is None or before.evidence is None:
        return None
    alike = again.ending is before.ending and are_alike(before.evidence, again.evidence)
    return Repetition.failed_alike if alike else Repetition.failed_otherwise
