"""The child's report about one case: plain data that the supervisor has not checked yet, and its form on the channel.

The fields have the names of ``protocol.outcomes``, which a framework's interpreter cannot import. The supervisor reads
the report as an ``Outcome`` and checks everything in it. The child makes all texts printable and cuts them to size, so
that every report fits the channel.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from protocol.enums import Ending, Kernels, Placement, Repetition, Unproven, Verdict
from runners.suite.device import Operation

TEXT_LIMIT = 16_384
FRAME_LIMIT = 64
OPERATION_LIMIT = 500
MAX_DTYPES = 32
# The same as in ``protocol.limits``; a test holds that.
LINE_LIMIT = 1_000
MILLISECONDS_LIMIT = 1e12
SECONDS_LIMIT = 1e9
_UNSTORABLE = {0: "\ufffd", **dict.fromkeys(range(0xD800, 0xE000), "\ufffd")}


@dataclass
class ObservedEvidence:
    exception: str | None = None
    message: str | None = None
    frames: list[str] = field(default_factory=list)
    stage: str | None = None
    exit_code: int | None = None
    signal: str | None = None
    mismatch: str | None = None
    right_at: str | None = None
    reason: str | None = None
    operation: str | None = None
    dtypes: list[str] = field(default_factory=list)
    kernels: Kernels | None = None
    kernel_dtypes: list[str] = field(default_factory=list)
    on_host: Repetition | None = None
    in_graph: Repetition | None = None
    in_float32: Repetition | None = None
    after_others: Repetition | None = None
    """Set only by the supervisor, because a child does not know the other outcome."""


@dataclass
class ObservedProof:
    devices: list[str] = field(default_factory=list)
    fallbacks: dict[str, int] = field(default_factory=dict)
    executed: int | None = None
    unproven: Unproven | None = None


@dataclass
class ObservedTiming:
    init_ms: float | None = None
    cold_ms: float | None = None
    samples_ms: list[float] = field(default_factory=list)
    calls_per_sample: int = 1
    contended: bool = False
    contended_share: float | None = None
    lock_wait_ms: float = 0.0
    position: int = 0


@dataclass
class Observation:
    """The result of one attempt, as observed by the process that made it."""

    verdict: Verdict
    ending: Ending
    duration_s: float
    placement: Placement = Placement.unknown
    proof: ObservedProof = field(default_factory=ObservedProof)
    timing: ObservedTiming = field(default_factory=ObservedTiming)
    evidence: ObservedEvidence | None = None


_DEFAULTS = {
    kind: [
        (member.name, member.default if member.default_factory is dataclasses.MISSING else member.default_factory())
        for member in dataclasses.fields(kind)
    ]
    for kind in (ObservedEvidence, ObservedProof, ObservedTiming, Observation)
}
"""The default of every field. They are only compared, so mutable ones can be shared."""


def storable(text: str) -> str:
    return text.translate(_UNSTORABLE)


def printable(text: str, limit: int = TEXT_LIMIT) -> str:
    """Make a text storable in JSON and PostgreSQL: without NUL and lone surrogates, and not longer than the limit."""
    text = storable(text)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def make_evidence(
    *,
    exception: str | None = None,
    message: str | None = None,
    frames: Sequence[str] = (),
    stage: str | None = None,
    exit_code: int | None = None,
    signal: str | None = None,
    mismatch: str | None = None,
    right_at: str | None = None,
    reason: str | None = None,
) -> ObservedEvidence:
    """Make evidence from any texts. Each text is made printable and cut to size; only the innermost frames are kept."""
    return ObservedEvidence(
        exception=_cut(exception, LINE_LIMIT),
        message=_cut(message, TEXT_LIMIT),
        frames=[printable(frame, LINE_LIMIT) for frame in frames[-FRAME_LIMIT:]],
        stage=_cut(stage, LINE_LIMIT),
        exit_code=exit_code,
        signal=_cut(signal, LINE_LIMIT),
        mismatch=_cut(mismatch, TEXT_LIMIT),
        right_at=_cut(right_at, LINE_LIMIT),
        reason=_cut(reason, TEXT_LIMIT),
    )


def _cut(text: str | None, limit: int) -> str | None:
    return None if text is None else printable(text, limit)


def with_operation(evidence: ObservedEvidence, operation: Operation) -> ObservedEvidence:
    """Add the failing operation and its kernels to the evidence, with their names cut to size."""
    return dataclasses.replace(
        evidence,
        operation=printable(operation.name, LINE_LIMIT),
        dtypes=_lines(operation.dtypes),
        kernels=operation.kernels,
        kernel_dtypes=_lines(operation.kernel_dtypes),
    )


def _lines(names: Sequence[str]) -> list[str]:
    return [printable(name, LINE_LIMIT) for name in names[:MAX_DTYPES]]


def make_proof(
    devices: Iterable[str], fallbacks: Mapping[str, int], executions: int | None, unproven: Unproven | None = None
) -> ObservedProof:
    """Make the proof of placement. Names are spelled as the framework spells them."""
    return ObservedProof(
        devices=[printable(device, LINE_LIMIT) for device in sorted(devices)],
        fallbacks={printable(operation, OPERATION_LIMIT): int(count) for operation, count in fallbacks.items()},
        executed=executions,
        unproven=unproven,
    )


def harness_failed(reason: str, duration_s: float) -> Observation:
    """Make the observation of a harness failure. It can be reported even if the clock is wrong."""
    seconds = min(max(duration_s, 0.0), SECONDS_LIMIT) if math.isfinite(duration_s) else 0.0
    return Observation(Verdict.incomplete, Ending.harness_failed, seconds, evidence=make_evidence(reason=reason))


def as_storable(observation: Observation) -> Observation:
    """Return the observation if all its durations are valid, otherwise an incomplete attempt.

    An invalid duration means that the case or the machine has broken the clock, so no measurement in this process can
    be trusted. The device is not to blame.
    """
    for name, value, most in _durations(observation):
        if not math.isfinite(value):
            fault = "must be a finite number"
        elif value < 0:
            fault = "must be 0 or more"
        elif value > most:
            fault = f"must be {most:.0f} or less"
        else:
            continue
        reason = f"the report of the case has an invalid value: {name}: {fault}"
        return harness_failed(reason, observation.duration_s)
    return observation


def _durations(observation: Observation) -> Iterator[tuple[str, float, float]]:
    """Yield the name, value and maximum of every duration."""
    timing = observation.timing
    for name in ("init_ms", "cold_ms", "lock_wait_ms"):
        value = getattr(timing, name)
        if value is not None:
            yield name, value, MILLISECONDS_LIMIT
    for place, sample in enumerate(timing.samples_ms):
        yield f"samples_ms.{place}", sample, MILLISECONDS_LIMIT
    yield "duration_s", observation.duration_s, SECONDS_LIMIT


def as_message(value: Observation | ObservedEvidence | ObservedProof | ObservedTiming) -> dict[str, Any]:
    """Convert a report to a message for the channel, with only the fields that differ from their defaults."""
    message: dict[str, Any] = {}
    for name, default in _DEFAULTS[type(value)]:
        content = getattr(value, name)
        if content != default:
            message[name] = (
                as_message(content)
                if isinstance(content, (ObservedEvidence, ObservedProof, ObservedTiming))
                else content
            )
    return message
