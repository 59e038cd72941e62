"""The harness: executes one case (inputs, call, check, placement, samples) and returns an observation.

``run_case`` runs in a process that has already primed its device. It catches everything that a case raises. The worker
and the supervisor handle isolation, deadlines and output.
"""

from __future__ import annotations

import dataclasses
import math
import os
import random
import traceback
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic  # imported by name, because a case may replace it in the module
from typing import Any, Protocol

import numpy as np

from protocol.enums import DOCUMENTED_PER_DEVICE, RECOMPILED, Ending, TimingPolicy, Unproven, Verdict
from runners.errors import TimingLockError, UntestedError
from runners.isolation import timing as clock
from runners.isolation.observations import (
    Observation,
    ObservedEvidence,
    ObservedTiming,
    make_evidence,
    make_proof,
    printable,
)
from runners.isolation.pausable_watch import PausableWatch
from runners.suite.cases import Case, Context
from runners.suite.checks import Accepted, Leaf, Mismatch, leaves
from runners.suite.construction import watched_constructor
from runners.suite.device import Device, Proof
from runners.suite.judgement import judge, judge_inputs, judge_later
from runners.suite.placement import ProvenPlacement, place
from runners.suite.rounding import rounded
from runners.suite.trees import numbers_in

MAX_MESSAGE = 8 * 1024
MAX_FRAMES = 40
MARGIN = 2
"""Further calls are made only if this many times their expected duration is left, because other cases may slow them
down."""
LEFT_TO_THE_DEVICE = "the function's documentation leaves it to each device whether this call is refused"
"""The reason if the call was accepted, so that the case is not applicable."""
FEWEST_TIMED_CALLS = 2 + clock.FEWEST_SAMPLES
"""The minimum number of timed calls: two for the warm-up, and one for each sample."""


class CaseProcess(Protocol):
    """The part of a worker that the harness uses."""

    def timing_lock(self) -> AbstractContextManager[float]:
        """Hold the timing lock, so that targets of one host do not disturb each other. Yields the wait in ms."""


def run_case(
    device: Device,
    case: Case,
    timing: TimingPolicy,
    report: CaseProcess,
    *,
    position: int,
    init_ms: float,
    timeout_s: float = math.inf,
) -> Observation:
    """Run one case and return the observation.

    ``position`` is the number of cases that ran before in this process. ``timeout_s`` is the time left until the case's
    deadline, which the supervisor enforces.
    """
    attempt = ObservedAttempt(device, case, timing, report, timeout_s)
    try:
        with device.scope(case.dtype):
            ending, evidence = attempt.run()
    except BaseException as error:  # a case may raise anything, SystemExit among it
        ending, evidence = attempt.describe(error)
    lock_wait_ms = attempt.lock_wait_ms
    where = attempt.place()
    return Observation(
        verdict=VERDICTS[ending],
        ending=ending,
        placement=where.placement,
        proof=make_proof(
            attempt.proof.devices, attempt.proof.fallbacks, _count_executions(device, attempt.proof), where.unproven
        ),
        timing=ObservedTiming(
            init_ms=init_ms,
            cold_ms=attempt.cold_ms,
            samples_ms=attempt.samples.milliseconds,
            calls_per_sample=attempt.samples.calls_per_sample,
            contended=attempt.samples.contended,
            contended_share=attempt.samples.contended_share if attempt.samples.milliseconds else None,
            lock_wait_ms=lock_wait_ms,
            # The preparation of such a case has already made a call, so the case counts as a later one.
            position=position + (RECOMPILED in case.tags),
        ),
        evidence=evidence,
        duration_s=attempt.elapsed_s(),
    )


def repetition(device: Device, case: Case) -> Callable[[], object]:
    """Return a function that repeats the whole case untimed, and raises what the case raises."""

    def call() -> object:
        with device.scope(case.dtype):
            return ObservedAttempt(device, case, TimingPolicy.off, FreeTimingLock()).run()

    return call


def prepared_call(device: Device, case: Case) -> Callable[[], object] | None:
    """Prepare a case's call, with its inputs on the device. ``None`` if the case has nothing to call there."""
    attempt = ObservedAttempt(device, case, TimingPolicy.off, FreeTimingLock())
    with device.scope(case.dtype):
        context = attempt.begin()
        if not isinstance(context, Context):
            return None
        attempt.seed()
        _, prepare_call = attempt.prepare(context)

    def call() -> object:
        with device.scope(case.dtype):
            return prepare_call()

    return call


def _count_executions(device: Device, proof: Proof) -> int | None:
    """Return the number of executions. On the host a count of 0 becomes None, because it would mean nothing there."""
    return proof.executed or None if device.is_host else proof.executed


VERDICTS = {
    Ending.returned: Verdict.passed,
    Ending.raised: Verdict.failed,
    Ending.mismatched: Verdict.failed,
    Ending.accepted: Verdict.failed,
    Ending.removed: Verdict.skipped,
    Ending.not_applicable: Verdict.skipped,
    Ending.lowered: Verdict.skipped,
    Ending.not_lowered: Verdict.skipped,
    Ending.harness_failed: Verdict.incomplete,
}


@dataclass
class ObservedAttempt:
    """One attempt to run a case, with its observations so far. ``stage`` is the current step."""

    device: Device
    case: Case
    policy: TimingPolicy
    report: CaseProcess
    timeout_s: float = math.inf
    stage: str = "inputs"
    ours: bool = False
    """Whether the case's or the harness's own code is running, whose errors are not the function's fault."""
    proof: Proof = field(default_factory=Proof)
    arrays: list[Leaf] = field(default_factory=list)
    cold_ms: float | None = None
    samples: clock.Samples = field(default_factory=lambda: clock.Samples([], 1))
    lock_wait_ms: float = 0.0
    begun: float = field(default_factory=monotonic)
    call_s: float = 0.0
    """Seconds that the last call took."""

    def __post_init__(self) -> None:
        self.watch = PausableWatch(self.proof)

    def elapsed_s(self) -> float:
        """Seconds since the attempt began, without waits for the timing lock."""
        return max(0.0, monotonic() - self.begun - self.lock_wait_ms / 1e3)

    def run(self) -> tuple[Ending, ObservedEvidence | None]:
        context = self.begin()
        return self._run(context) if isinstance(context, Context) else context

    def begin(self) -> Context | tuple[Ending, ObservedEvidence]:
        """Prepare the context of the case. Returns an ending if the case has nothing to test here."""
        case, device = self.case, self.device
        try:
            function = case.given or device.lookup(case.looked_up)
        except LookupError as error:
            return Ending.removed, make_evidence(stage=self.stage, reason=str(error))
        context = Context(
            function=function,
            device=device.handle,
            target=device.name,
            dtype=device.dtype(case.dtype),
            to_device=lambda tree: device.to_device(rounded(tree, case.dtype), case.dtype),
            compiled=device.compiled,
            surroundings=self.watch.pause,
            to_host=device.to_host,
        )
        with self._our_own():
            reason = case.not_applicable(context) if case.not_applicable else None
        if reason is not None:
            return Ending.not_applicable, make_evidence(stage=self.stage, reason=reason)
        return context

    def _run(self, context: Context) -> tuple[Ending, ObservedEvidence | None]:
        # Also held for the inputs and checks of a timed case, which would take a core from another target's samples.
        with self._hold_lock():
            return self._run_steps(context)

    def _run_steps(self, context: Context) -> tuple[Ending, ObservedEvidence | None]:
        case, device = self.case, self.device
        self.seed()
        with self._our_own():
            reference = case.reference(*self._inputs(), **case.options) if case.reference else None

        self.stage = "prepare"
        inputs_there, call = self.prepare(context)
        self.stage = "call"
        result = self._cold(call)
        self.stage = "check"
        host_result = device.to_host(result)
        own_values = getattr(case.prepare, "own_values", lambda observed: observed)
        self.arrays = leaves(own_values(host_result))
        self.proof.devices |= {array.device for array in leaves(host_result)}
        self._check(judge, host_result, reference)
        self._check_inputs(inputs_there)
        self.stage = "placement"
        if self._has_time_for(2):  # this one, and the repetition
            self._trace(context, call)
        else:
            self.proof.doubts.add(Unproven.no_time)
        self.stage = "samples"
        # In a case of a second shape, only the first call matters: later calls take as long as in any case.
        has_samples = not self.case.refuses and RECOMPILED not in self.case.tags
        takes_samples = self.policy.takes_samples and has_samples and not self.place().is_of_host
        not_timed = None
        if takes_samples and not self._has_time_for(FEWEST_TIMED_CALLS + 1):
            not_timed = make_evidence(stage=self.stage, reason=self._too_short("its samples"))
        elif takes_samples:
            budget_s = clock.QUICK_BUDGET_S if self.policy is TimingPolicy.quick else clock.BUDGET_S
            self.samples = clock.steady(call, device.wait, budget_s=budget_s)
        self.stage = "repeat"
        if not self._has_time_for(1):
            return Ending.returned, make_evidence(stage=self.stage, reason=self._too_short("a second call"))
        self._repeat(context, inputs_there, call, reference)
        return Ending.returned, not_timed

    def place(self) -> ProvenPlacement:
        """Return the placement according to the calls so far."""
        return place(self.device, self.case, self.proof, self.arrays)

    def _has_time_for(self, calls: int) -> bool:
        """Whether this many further calls, each as long as the last one, will surely end before the deadline.

        Only the harness wants these calls. So a case whose first call returned in time must not fail because its call
        is too slow to be repeated.
        """
        return MARGIN * calls * self.call_s <= self.timeout_s - self.elapsed_s()

    def _too_short(self, purpose: str) -> str:
        return (
            f"the first call was right and took {self.call_s:.3g} s: the rest of the {self.timeout_s:.4g} s may be too "
            f"short for {purpose}"
        )

    def describe(self, error: BaseException) -> tuple[Ending, ObservedEvidence]:
        """Return the ending and the evidence for an exception. They depend on the stage in which it was raised."""
        if self.case.refuses and isinstance(error, Accepted) and DOCUMENTED_PER_DEVICE in self.case.tags:
            return Ending.not_applicable, make_evidence(stage=self.stage, reason=LEFT_TO_THE_DEVICE)
        if isinstance(error, Mismatch):
            is_accepted = self.case.refuses and isinstance(error, Accepted)
            return Ending.accepted if is_accepted else Ending.mismatched, make_evidence(
                stage=self.stage, mismatch=printable(str(error), MAX_MESSAGE), right_at=error.right_at
            )
        if isinstance(error, TimingLockError):
            return Ending.harness_failed, make_evidence(stage=self.stage, reason=str(error))
        if isinstance(error, UntestedError):
            return Ending.not_applicable, make_evidence(stage=self.stage, reason=str(error))
        evidence = make_evidence(
            exception=f"{type(error).__module__}.{type(error).__qualname__}",
            message=_message(error),
            frames=_frames(error),
            stage=self.stage,
        )
        if self.stage in ("check", "repeat") and self.ours:
            # The check raises no other error for a right result, so the result is wrong.
            text = f"the check could not read the result: {type(error).__name__}: {evidence.message}"
            return Ending.mismatched, dataclasses.replace(evidence, mismatch=text)
        if isinstance(error, ModuleNotFoundError) or (self.ours and isinstance(error, ImportError)):
            reason = f"this environment lacks a requirement of the case: {evidence.message}"
            return Ending.harness_failed, dataclasses.replace(evidence, reason=reason)
        if self.ours:
            reason = f"the case's own code failed at its {self.stage}: {evidence.message}"
            return Ending.harness_failed, dataclasses.replace(evidence, reason=reason)
        return Ending.raised, evidence

    def seed(self) -> None:
        random.seed(self.case.seed)
        np.random.seed(self.case.seed)
        self.device.seed(self.case.seed)

    def _inputs(self) -> list[Any]:
        """Make new host arguments with the same values each time, because the function may change them."""
        return list(rounded(list(self.case.arguments(self.case.inputs())), self.case.dtype))

    def _move_inputs(self) -> Any:
        """Make new arguments and move them to the device."""
        with self._our_own():
            arguments = self._inputs()
        return self.device.to_device(arguments, self.case.dtype)

    def prepare(self, context: Context) -> tuple[Any, clock.Call]:
        """Return new arguments on the device, and the prepared call with these arguments."""
        inputs_there = self._move_inputs()
        with watched_constructor(context.function, self._constructing):
            return inputs_there, self.case.prepare(context, *inputs_there, **self.case.options)

    @contextmanager
    def _constructing(self) -> Iterator[None]:
        """Watch a constructor for fallbacks. Its executions do not count: they do not prove where the call runs."""
        proof = Proof(goes_on=True)
        with self.device.counting(proof):
            yield
        for operation, count in proof.fallbacks.items():
            self.proof.fell_back(operation, count)

    def _cold(self, call: clock.Call) -> Any:
        with self.watch.watching(self.device.counting):
            result, milliseconds = clock.cold(call, self.device.wait)
            self.proof.returned = numbers_in(result)
        self.call_s = milliseconds / 1e3
        if self.policy is not TimingPolicy.off and not self.case.refuses:
            self.cold_ms = milliseconds
        return result

    def _check(self, check: Callable[..., None], host_result: Any, reference: Any) -> None:
        with self._our_own():
            check(self.case, host_result, reference, self._inputs)

    def _check_inputs(self, inputs_there: Any) -> None:
        """Compare the arguments after the call with new ones that were moved to the device and back in the same way.

        They are copied after the call, because a copy before it would change the state in which the first call runs.
        """
        if self.case.in_place is True:
            return
        fresh = self._move_inputs()
        with self._our_own():
            judge_inputs(self.case, self.device.to_host(inputs_there), self.device.to_host(fresh))

    def _repeat(self, context: Context, inputs_there: Any, call: clock.Call, reference: Any) -> None:
        """Call once more, untimed, after all timed calls, to check that the result is still right and on the device.

        The seed is set again, so that random numbers do not depend on the number of samples.
        """
        self.seed()
        if self.case.unrepeatable:
            inputs_there, call = self.prepare(context)
        with self.watch.watching(self.device.counting):
            result = self._call_counted(call)
        host_result = self.device.to_host(result)
        self._check(judge_later, host_result, reference)
        self._check_inputs(inputs_there)

    def _trace(self, context: Context, call: clock.Call) -> None:
        """Call once more under close watch. If that fails, the proof only has less in it."""
        try:
            arguments = self.device.to_device(self._inputs(), self.case.dtype)
            self.proof.devices |= {leaf.device for leaf in leaves(self.device.to_host(arguments))}
            if self.device.traces_anew or self.case.unrepeatable:
                call = self.case.prepare(context, *arguments, **self.case.options)
            # As before the cold call: if inputs are still pending, a lazy framework compiles another program.
            self.device.wait(None)
            with self.watch.watching(self.device.tracing):
                self._call_counted(call)
        except BaseException:
            self.proof.doubts.add(Unproven.watched_call_failed)

    def _call_counted(self, call: clock.Call) -> Any:
        began = monotonic()
        result = call()
        self.device.wait(result)
        self.call_s = monotonic() - began
        self.proof.returned = numbers_in(result)
        return result

    @contextmanager
    def _our_own(self) -> Iterator[None]:
        """Mark the code in the block as code of the case or of the harness, and not of the function under test. NumPy's
        warnings are ignored in the block."""
        self.ours = True
        with np.errstate(all="ignore"):
            yield
        self.ours = False

    @contextmanager
    def _hold_lock(self) -> Iterator[None]:
        lock = nullcontext(0.0) if self.policy is TimingPolicy.off else self.report.timing_lock()
        with lock as waited_ms:
            self.lock_wait_ms = waited_ms
            yield


def _message(error: BaseException) -> str:
    try:
        return printable(str(error), MAX_MESSAGE)
    except Exception as second:
        return f"(its message could not be read: {type(second).__name__})"


def _frames(error: BaseException) -> list[str]:
    """Return the frames as ``file:line function``, innermost last, without the harness's own frames."""
    frames = [
        f"{_short_path(frame.f_code.co_filename)}:{line} {frame.f_code.co_name}"
        for frame, line in traceback.walk_tb(error.__traceback__)
        if frame.f_code.co_filename not in _OWN_FILES
    ]
    return frames[-MAX_FRAMES:]


_OWN_FILES = {__file__, clock.__file__, traceback.__file__}
_ROOT = Path(__file__).absolute().parents[2]


def _short_path(path: str) -> str:
    """Make a path relative to the packages' or Portolan's folder, so that evidence is the same on every machine."""
    _, packages_folder, rest = path.rpartition(f"site-packages{os.sep}")
    if packages_folder:
        return rest
    return os.path.relpath(path, _ROOT) if path.startswith(f"{_ROOT}{os.sep}") else path


class FreeTimingLock:
    """A ``CaseProcess`` without a timing lock, for a process that runs beside no other target."""

    def timing_lock(self) -> AbstractContextManager[float]:
        return nullcontext(0.0)
