"""Executing one case: inputs, call, check, placement and samples, and the outcome of it all.

``run_case`` works in a process that already holds its device, and never raises for what a
case does. Isolation, deadlines and output are the worker's and the supervisor's.
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
from time import monotonic  # ours, whatever a case puts in its place
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
from runners.suite.placement import Place, place
from runners.suite.rounding import rounded
from runners.suite.trees import numbers_in

MAX_MESSAGE = 8 * 1024
MAX_FRAMES = 40
MARGIN = 2
"""Further calls are made only if this many times the previous duration is left, because other cases may slow the next
one."""
LEFT_TO_THE_DEVICE = "the function's documentation leaves it to each device whether this call is refused"
"""Why a case is not applicable where its call was accepted."""
FEWEST_TIMED_CALLS = 2 + clock.FEWEST_SAMPLES
"""The calls of the shortest warm-up, and one a sample."""


class CaseProcess(Protocol):
    """The part of a worker that the harness uses."""

    def timing_lock(self) -> AbstractContextManager[float]:
        """Hold the timing lock, so that targets of one host do not disturb each other; gives the wait in ms."""


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
    """Run one case to its outcome. ``position`` counts the cases before it in this process.

    ``timeout_s`` is what is left until the case's deadline, which another process holds it to.
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
            # The call in another shape is that of a case before.
            position=position + (RECOMPILED in case.tags),
        ),
        evidence=evidence,
        duration_s=attempt.elapsed_s(),
    )


def repetition(device: Device, case: Case) -> Callable[[], object]:
    """Repeat the whole case, untimed; it raises what the case raises."""

    def call() -> object:
        with device.scope(case.dtype):
            return ObservedAttempt(device, case, TimingPolicy.off, Alone()).run()

    return call


def prepared_call(device: Device, case: Case) -> Callable[[], object] | None:
    """The call of a case whose inputs are already on the device; ``None`` if there is nothing to call there."""
    attempt = ObservedAttempt(device, case, TimingPolicy.off, Alone())
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
    """The number of counted executions. On the host everything runs there, so a missing count means nothing."""
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
    """One attempt and its observations so far; ``stage`` is its current step."""

    device: Device
    case: Case
    policy: TimingPolicy
    report: CaseProcess
    timeout_s: float = math.inf
    stage: str = "inputs"
    ours: bool = False
    """Whether the harness's own code is running. The function is not to blame for its errors."""
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
        """Seconds since it began, without waits for the timing lock."""
        return max(0.0, monotonic() - self.begun - self.lock_wait_ms / 1e3)

    def run(self) -> tuple[Ending, ObservedEvidence | None]:
        context = self.begin()
        return self._run(context) if isinstance(context, Context) else context

    def begin(self) -> Context | tuple[Ending, ObservedEvidence]:
        """Prepare the surroundings of the case. Returns an ending if the case has nothing to test here."""
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
        # Held for the inputs and checks of a timed case, too: beside another target's samples they would take a core.
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
        # Of a second shape only the first call is of interest: later ones take as long as those of any case.
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

    def place(self) -> Place:
        """Where the work was done, according to the calls so far."""
        return place(self.device, self.case, self.proof, self.arrays)

    def _has_time_for(self, calls: int) -> bool:
        """Whether that many further calls, each as long as the last, will certainly end before the deadline.

        These calls are the harness's own. A call that returned in time but is too slow to be repeated accuses nothing.
        """
        return MARGIN * calls * self.call_s <= self.timeout_s - self.elapsed_s()

    def _too_short(self, purpose: str) -> str:
        return (
            f"the first call was right and took {self.call_s:.3g} s: what is left of {self.timeout_s:.4g} s may be too "
            f"short for {purpose}"
        )

    def describe(self, error: BaseException) -> tuple[Ending, ObservedEvidence]:
        """The ending and the evidence of an exception, according to the stage in which it was raised."""
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
            # The check reads what the function returned; on a right result it does not raise.
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
        """Fresh host arguments, with equal values each time, because the function may change them."""
        return list(rounded(list(self.case.arguments(self.case.inputs())), self.case.dtype))

    def _move_inputs(self) -> Any:
        """Fresh arguments, on the device."""
        with self._our_own():
            arguments = self._inputs()
        return self.device.to_device(arguments, self.case.dtype)

    def prepare(self, context: Context) -> tuple[Any, clock.Call]:
        """The arguments on the device, and the call that works on them."""
        inputs_there = self._move_inputs()
        with watched_constructor(context.function, self._constructing):
            return inputs_there, self.case.prepare(context, *inputs_there, **self.case.options)

    @contextmanager
    def _constructing(self) -> Iterator[None]:
        """Watch a constructor. The object later works with what the constructor takes from the device, but what the
        constructor executes is no proof that the call runs there.
        """
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
        """Compare the arguments after the call with fresh ones that went to the device and back in the same way.

        They are copied only now, because an earlier copy would add to what the first call finds prepared.
        """
        if self.case.in_place is True:
            return
        fresh = self._move_inputs()
        with self._our_own():
            judge_inputs(self.case, self.device.to_host(inputs_there), self.device.to_host(fresh))

    def _repeat(self, context: Context, inputs_there: Any, call: clock.Call, reference: Any) -> None:
        """Call once more, untimed, after all timed calls, to check that the result and the placement are the same.

        The seed is set again, so random numbers do not depend on the number of samples.
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
        """Call once more under close observation. If that fails, there is only less proof."""
        try:
            arguments = self.device.to_device(self._inputs(), self.case.dtype)
            self.proof.devices |= {leaf.device for leaf in leaves(self.device.to_host(arguments))}
            if self.device.traces_anew or self.case.unrepeatable:
                call = self.case.prepare(context, *arguments, **self.case.options)
            # As before the cold call: with inputs still pending, a lazy framework compiles all anew.
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
        """Mark inputs, references and checks as the harness's own code, and ignore NumPy's warnings about NaN in
        them."""
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
    """``file:line function``, innermost last, without the harness's own."""
    frames = [
        f"{_short_path(frame.f_code.co_filename)}:{line} {frame.f_code.co_name}"
        for frame, line in traceback.walk_tb(error.__traceback__)
        if frame.f_code.co_filename not in _OWN_FILES
    ]
    return frames[-MAX_FRAMES:]


_OWN_FILES = {__file__, clock.__file__, traceback.__file__}
_ROOT = Path(__file__).absolute().parents[2]


def _short_path(path: str) -> str:
    """Relative to the packages' folder or to ours, so that evidence reads alike on every machine."""
    _, packages_folder, rest = path.rpartition(f"site-packages{os.sep}")
    if packages_folder:
        return rest
    return os.path.relpath(path, _ROOT) if path.startswith(f"{_ROOT}{os.sep}") else path


class Alone:
    """The worker's report interface for a process that need not share timing with other targets."""

    def timing_lock(self) -> AbstractContextManager[float]:
        return nullcontext(0.0)
