"""Executing one case: inputs, call, check, placement and samples, and the outcome of it all.

``run_case`` works in a process that already holds its device, and never raises for what a
case does. Isolation, deadlines and output are the worker's and the supervisor's.

Whoever writes a case runs it here, in one process and without isolation:

    python -m runners.isolation.harness torch cpu 'torch.argsort/*' 'torch.cat*'
"""

from __future__ import annotations

import dataclasses
import fnmatch
import os
import random
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic  # ours, whatever a case puts in its place
from typing import Any, Protocol

import numpy as np

from protocol.enums import Ending, Placement, TimingPolicy, Verdict
from runners import frameworks
from runners.errors import MissingPackageError
from runners.isolation import timing as clock
from runners.isolation.observations import (
    Evidence,
    Observation,
    Timing,
    as_message,
    make_evidence,
    make_proof,
    printable,
)
from runners.suite.cases import Case, Context
from runners.suite.checks import Leaf, Mismatch, compare, leaves
from runners.suite.device import Device, Proof
from runners.suite.rounding import rounded

MAX_MESSAGE = 8 * 1024
MAX_FRAMES = 40


class Report(Protocol):
    """The process of a case, as the harness needs it."""

    def timing_lock(self) -> AbstractContextManager[float]:
        """Held while the clock runs, so that targets of one host do not time each other; the ms waited."""


def run_case(
    device: Device, case: Case, timing: TimingPolicy, report: Report, *, position: int, init_ms: float
) -> Observation:
    """Run one case to its outcome. ``position`` counts the cases before it in this process."""
    attempt = _Attempt(device, case, timing, report)
    begun = monotonic()
    try:
        with device.scope(case.dtype):
            ending, evidence = attempt.run()
    except BaseException as error:  # a case may raise anything, SystemExit among it
        ending, evidence = attempt.describe(error)
    lock_wait_ms = attempt.lock_wait_ms
    return Observation(
        verdict=_VERDICTS[ending],
        ending=ending,
        placement=placement(device, case, attempt.proof, attempt.arrays),
        proof=make_proof(attempt.proof.devices, attempt.proof.fallbacks),
        timing=Timing(
            init_ms=init_ms,
            cold_ms=attempt.cold_ms,
            samples_ms=attempt.samples.milliseconds,
            calls_per_sample=attempt.samples.calls_per_sample,
            lock_wait_ms=lock_wait_ms,
            position=position,
        ),
        evidence=evidence,
        duration_s=max(0.0, monotonic() - begun - lock_wait_ms / 1e3),
    )


def placement(device: Device, case: Case, proof: Proof, arrays: Sequence[Leaf]) -> Placement:
    """The placement of the work, as far as arrays and counted fallbacks prove it: without a count, nothing does."""
    if case.host_only is not None:
        return Placement.host_only
    if proof.fallbacks or not all(device.on_device(array.device) for array in arrays):
        return Placement.fell_back
    if proof.counted and proof.devices and all(map(device.on_device, proof.devices)):
        return Placement.on_device
    return Placement.unknown


_VERDICTS = {
    Ending.returned: Verdict.passed,
    Ending.raised: Verdict.failed,
    Ending.mismatched: Verdict.failed,
    Ending.removed: Verdict.skipped,
    Ending.not_applicable: Verdict.skipped,
    Ending.harness_failed: Verdict.incomplete,
}


@dataclass
class _Attempt:
    """One attempt and its observations so far; ``stage`` is the step that the case is at."""

    device: Device
    case: Case
    policy: TimingPolicy
    report: Report
    stage: str = "inputs"
    ours: bool = False
    """Whether our own code runs: what it raises is not the function's fault."""
    proof: Proof = field(default_factory=Proof)
    arrays: list[Leaf] = field(default_factory=list)
    cold_ms: float | None = None
    samples: clock.Samples = field(default_factory=lambda: clock.Samples([], 1))
    lock_wait_ms: float = 0.0

    def run(self) -> tuple[Ending, Evidence | None]:
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
        )
        with self._our_own():
            reason = case.not_applicable(context) if case.not_applicable else None
        if reason is not None:
            return Ending.not_applicable, make_evidence(stage=self.stage, reason=reason)

        self._seed()
        with self._our_own():
            expected = case.reference(*self._inputs(), **case.options) if case.reference else None

        self.stage = "prepare"
        call = self._prepared(context)
        self.stage = "call"
        result = self._cold(call)
        self.stage = "check"
        observed = device.to_host(result)
        self.arrays = leaves(observed)
        self.proof.devices |= {array.device for array in self.arrays}
        self._check(observed, expected)
        self.stage = "placement"
        self._trace(context)
        self.stage = "samples"
        if self.policy is TimingPolicy.steady:
            with self._locked():
                self.samples = clock.steady(call, device.wait)
        return Ending.returned, None

    def describe(self, error: BaseException) -> tuple[Ending, Evidence]:
        """The ending and the evidence of an exception, by the stage in which it came up."""
        if isinstance(error, Mismatch):
            return Ending.mismatched, make_evidence(
                stage=self.stage, mismatch=printable(str(error), MAX_MESSAGE), right_at=error.right_at
            )
        if isinstance(error, MissingPackageError):
            return Ending.not_applicable, make_evidence(stage=self.stage, reason=str(error))
        evidence = make_evidence(
            exception=f"{type(error).__module__}.{type(error).__qualname__}",
            message=_message(error),
            frames=_frames(error),
            stage=self.stage,
        )
        if self.stage == "check" and self.ours:
            # The check reads what the function returned; on a right result it does not raise.
            text = f"the check could not read the result: {type(error).__name__}: {evidence.message}"
            return Ending.mismatched, dataclasses.replace(evidence, mismatch=text)
        if isinstance(error, ModuleNotFoundError) or (self.ours and isinstance(error, ImportError)):
            reason = f"this environment lacks what the case needs: {evidence.message}"
            return Ending.harness_failed, dataclasses.replace(evidence, reason=reason)
        if self.ours:
            reason = f"the case's own code failed at its {self.stage}: {evidence.message}"
            return Ending.harness_failed, dataclasses.replace(evidence, reason=reason)
        return Ending.raised, evidence

    def _seed(self) -> None:
        random.seed(self.case.seed)
        np.random.seed(self.case.seed)
        self.device.seed(self.case.seed)

    def _inputs(self) -> list[Any]:
        """Fresh host arguments, the same each time: their receiver may change them."""
        return list(rounded(list(self.case.arguments(self.case.inputs())), self.case.dtype))

    def _prepared(self, context: Context) -> clock.Call:
        with self._our_own():
            arguments = self._inputs()
        moved = self.device.to_device(arguments, self.case.dtype)
        return self.case.prepare(context, *moved, **self.case.options)

    def _cold(self, call: clock.Call) -> Any:
        with self._locked(), self.device.counting(self.proof):
            result, milliseconds = clock.cold(call, self.device.wait)
        if self.policy is not TimingPolicy.off:
            self.cold_ms = milliseconds
        return result

    def _check(self, observed: Any, expected: Any) -> None:
        with self._our_own():
            if self.case.check is None:
                compare(observed, expected, self.case.dtype, self.case.tolerance)
                return
            try:
                self.case.check(observed, *self._inputs(), **self.case.options)
            except Mismatch:
                raise
            except AssertionError as error:
                raise Mismatch(str(error) or "an assertion of the check does not hold") from error

    def _trace(self, context: Context) -> None:
        """Once more from fresh inputs, watched closely; if that fails, there is only less proof."""
        try:
            arguments = self.device.to_device(self._inputs(), self.case.dtype)
            self.proof.devices |= {leaf.device for leaf in leaves(self.device.to_host(arguments))}
            call = self.case.prepare(context, *arguments, **self.case.options)
            # As before the cold call: with inputs still pending, a lazy framework compiles all anew.
            self.device.wait(None)
            with self.device.tracing(self.proof):
                self.device.wait(call())
        except BaseException:
            return

    @contextmanager
    def _our_own(self) -> Iterator[None]:
        """Inputs, references and checks: their warnings about NaN are wanted, their errors are ours."""
        self.ours = True
        with np.errstate(all="ignore"):
            yield
        self.ours = False

    @contextmanager
    def _locked(self) -> Iterator[None]:
        lock = nullcontext(0.0) if self.policy is TimingPolicy.off else self.report.timing_lock()
        with lock as waited_ms:
            self.lock_wait_ms += waited_ms
            yield


def _message(error: BaseException) -> str:
    try:
        return printable(str(error), MAX_MESSAGE)
    except Exception as second:
        return f"(its message could not be read: {type(second).__name__})"


def _frames(error: BaseException) -> list[str]:
    """``file:line function``, innermost last, without the harness's own."""
    found = [
        f"{_short_path(frame.f_code.co_filename)}:{line} {frame.f_code.co_name}"
        for frame, line in traceback.walk_tb(error.__traceback__)
        if frame.f_code.co_filename not in _OWN_FILES
    ]
    return found[-MAX_FRAMES:]


_OWN_FILES = {__file__, clock.__file__, traceback.__file__}
_ROOT = Path(__file__).absolute().parents[2]


def _short_path(path: str) -> str:
    """Relative to the packages' folder or to ours, so that evidence reads alike on every machine."""
    _, found, rest = path.rpartition(f"site-packages{os.sep}")
    if found:
        return rest
    return os.path.relpath(path, _ROOT) if path.startswith(f"{_ROOT}{os.sep}") else path


class _Alone:
    """The report of a process that shares its host with no other target."""

    def timing_lock(self) -> AbstractContextManager[float]:
        return nullcontext(0.0)


def main(arguments: Sequence[str]) -> int:
    """Run cases in this process and print a line for each, for their author."""
    if len(arguments) < 2:
        print("usage: python -m runners.isolation.harness FRAMEWORK DEVICE [CASE-GLOB ...]", file=sys.stderr)
        return 2
    framework = frameworks.load(arguments[0])
    os.environ.update(frameworks.variables(framework, arguments[1]))
    device = frameworks.load_device(framework, arguments[1])
    globs = arguments[2:] or ["*"]
    started = time.perf_counter()
    device.prime()
    init_ms = (time.perf_counter() - started) * 1e3
    cases = [case for suite in framework.load_suites().values() for case in suite.cases]
    chosen = [case for case in cases if any(fnmatch.fnmatchcase(case.id, glob) for glob in globs)]
    bad = 0
    for position, case in enumerate(chosen):
        outcome = run_case(device, case, TimingPolicy.steady, _Alone(), position=position, init_ms=init_ms)
        bad += outcome.verdict not in (Verdict.passed, Verdict.skipped)
        print(_line(case, outcome))
    print(f"{len(chosen) - bad} of {len(chosen)} cases passed or skipped on {arguments[0]}/{arguments[1]}")
    return 1 if bad or not chosen else 0


def _line(case: Case, outcome: Observation) -> str:
    times = [outcome.timing.cold_ms, clock.median(outcome.timing.samples_ms or [float("nan")])]
    shown = " ".join("-" if duration is None else f"{duration:.4g} ms" for duration in times)
    text = f"{outcome.verdict:10} {outcome.ending:14} {outcome.placement:10} {shown:24} {case.id}"
    if outcome.proof.fallbacks:
        text += f"\n    fallbacks {outcome.proof.fallbacks}"
    if outcome.evidence:
        evidence = as_message(outcome.evidence)
        text += "".join(f"\n    {key}: {value}" for key, value in evidence.items() if key != "frames")
        text += "".join(f"\n      {frame}" for frame in outcome.evidence.frames)
    return text


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
