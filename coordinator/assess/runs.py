"""Computes the evidence about a case from the outcomes of its runs. This module does no I/O."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from coordinator.assess.evidence import LONGEST_SAID, CaseEvidence
from coordinator.causes.rules import readable
from coordinator.results.conditions import End, end_of_runs
from protocol.catalogue import CaseOptions
from protocol.enums import (
    GRADIENT,
    JUDGED_BY,
    RECOMPILED,
    REFUSES,
    WITH_RECORDED_VALUES,
    Cause,
    Ending,
    Judge,
    Placement,
    Verdict,
)


@dataclass(frozen=True)
class Run:
    """One outcome of a case."""

    verdict: Verdict
    placement: Placement
    cause: Cause | None = None
    ending: Ending | None = None
    said: str | None = None
    operations: tuple[str, ...] = ()
    """The framework's own operations that the host ran, or the operation at which the case failed."""


@dataclass(frozen=True)
class CaseTimes:
    """The measured times of a case over its runs."""

    ratio: float | None = None
    """The ratio of the case's latency to its latency on the CPU."""
    cold_ms: float | None = None
    """The time of the first call of the case, in milliseconds."""
    first_cold_ms: float | None = None
    """The time of the first call of the case, in milliseconds, over the runs in which no other case had run in the
    process."""


NO_TIMES = CaseTimes()


@dataclass(frozen=True)
class RunCase:
    """The facts about a case that come from its suite."""

    name: str
    tags: frozenset[str]
    options: CaseOptions | None
    host_only: bool


def case_evidence(case: RunCase, runs: Sequence[Run], chart: int, times: CaseTimes = NO_TIMES) -> CaseEvidence | None:
    """The evidence about the case; None if no run counts, or if the case raised the error that it expects."""
    raises_on_both = _raises_on_both(case, runs)
    end = "failed" if raises_on_both else _end(runs, host_only=case.host_only)
    if end is None or _is_met(case, end):
        return None
    tags, judge = _judge_apart(case.tags)
    is_failure = _raises_on_host_too if raises_on_both else _is_failure
    failure = next(filter(is_failure, runs), None) if end in ("failed", "accepted") else None
    return CaseEvidence(
        end=end,
        options=case.options,
        tags=tags,
        judged_by=judge,
        case=case.name,
        chart=chart,
        cause=failure.cause if failure else None,
        ending=failure.ending if failure else None,
        said=_shorten(failure.said) if failure and failure.said else None,
        ratio=times.ratio,
        first_call_ms=times.cold_ms if RECOMPILED in tags else times.first_cold_ms,
        operations=failure.operations if failure else _operations_on_host(runs),
    )


def is_met_refusal(case: RunCase, runs: Sequence[Run]) -> bool:
    """Whether a case expects an error, and the call raised it."""
    return _is_met(case, _end(runs, host_only=case.host_only))


def _is_met(case: RunCase, end: End | None) -> bool:
    return REFUSES in case.tags and end not in (None, "failed", "accepted")


# A million cases have only a few hundred different sets of tags.
@lru_cache(maxsize=4096)
def _judge_apart(tags: frozenset[str]) -> tuple[frozenset[str], Judge | None]:
    """The tags that name no judge, and the judge that one of the other tags names."""
    judge = next((judge for judge in Judge if f"{JUDGED_BY}{judge}" in tags), None)
    return frozenset(tag for tag in tags if not tag.startswith(JUDGED_BY)), judge


def _end(runs: Sequence[Run], *, host_only: bool) -> End | None:
    causes = {run.cause for run in runs}
    if Cause.not_lowered in causes:
        return "failed"
    if Cause.lowered in causes:
        return "unproven"
    return end_of_runs([(run.verdict, run.placement, run.cause) for run in runs], host_only=host_only)


def _raises_on_both(case: RunCase, runs: Sequence[Run]) -> bool:
    """Whether a recorded call, with the values that the program passed, raises an error on the target and on the CPU.

    The call raised no error while it was recorded on the CPU. So the program makes a call with these values only on the
    target, in a branch that depends on the device. Calls with random values and gradients are not considered, because
    their errors may come from values that the program never passed.
    """
    is_own_call = WITH_RECORDED_VALUES in case.tags and GRADIENT not in case.tags
    return is_own_call and bool(runs) and all(map(_raises_on_host_too, runs))


def _raises_on_host_too(run: Run) -> bool:
    return run.cause is Cause.not_this_device and run.ending is Ending.raised


def _is_failure(run: Run) -> bool:
    return run.verdict is Verdict.failed or run.cause is Cause.not_lowered


def _operations_on_host(runs: Sequence[Run]) -> tuple[str, ...]:
    """The operations that the host ran in the passing runs that fell back."""
    runs_on_host = (run for run in runs if run.verdict is Verdict.passed and run.placement is Placement.fell_back)
    return tuple(sorted({name for run in runs_on_host for name in run.operations}))


def _shorten(message: str) -> str:
    line = " ".join(readable(message).split())
    return line if len(line) <= LONGEST_SAID else f"{line[: LONGEST_SAID - 1]}…"
