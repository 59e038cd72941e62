"""A command for authors of cases: runs cases in one process, without isolation, and prints the results.

python -m runners.isolation.author torch cpu 'torch.argsort/*' 'torch.cat*'
"""

from __future__ import annotations

import fnmatch
import os
import sys
import time
from collections.abc import Sequence

from protocol.enums import TimingPolicy, Verdict
from runners import frameworks
from runners.isolation import timing as clock
from runners.isolation.explanation import add_explanation
from runners.isolation.harness import FreeTimingLock, run_case
from runners.isolation.observations import Observation, as_message
from runners.suite.cases import Case


def main(arguments: Sequence[str]) -> int:
    """Run cases in this process and print a line for each, for their author."""
    if len(arguments) < 2:
        print("usage: python -m runners.isolation.author FRAMEWORK DEVICE [CASE-GLOB ...]", file=sys.stderr)
        return 2
    framework = frameworks.load(arguments[0])
    os.environ.update(frameworks.variables(framework, arguments[1]))
    device = frameworks.load_device(framework, arguments[1])
    globs = arguments[2:] or ["*"]
    start = time.perf_counter()
    device.prime()
    init_ms = (time.perf_counter() - start) * 1e3
    cases = [case for suite in framework.load_suites().values() for case in suite.cases]
    matching = [case for case in cases if any(fnmatch.fnmatchcase(case.id, glob) for glob in globs)]
    bad = 0
    for position, case in enumerate(matching):
        outcome = run_case(device, case, TimingPolicy.steady, FreeTimingLock(), position=position, init_ms=init_ms)
        outcome = add_explanation(device, case, outcome)
        bad += outcome.verdict not in (Verdict.passed, Verdict.skipped)
        print(_line(case, outcome))
    print(f"{len(matching) - bad} of {len(matching)} cases passed or skipped on {arguments[0]}/{arguments[1]}")
    return 1 if bad or not matching else 0


def _line(case: Case, outcome: Observation) -> str:
    times = [outcome.timing.cold_ms, clock.median(outcome.timing.samples_ms or [float("nan")])]
    durations = " ".join("-" if duration is None else f"{duration:.4g} ms" for duration in times)
    text = f"{outcome.verdict:10} {outcome.ending:14} {outcome.placement:10} {durations:24} {case.id}"
    if outcome.proof.unproven:
        text += f"\n    unknown, as {outcome.proof.unproven.sentence}"
    if outcome.proof.fallbacks:
        text += f"\n    fallbacks {outcome.proof.fallbacks}"
    if outcome.proof.executed is not None:
        text += f"\n    executed {outcome.proof.executed}"
    if outcome.evidence:
        evidence = as_message(outcome.evidence)
        text += "".join(f"\n    {key}: {value}" for key, value in evidence.items() if key != "frames")
        text += "".join(f"\n      {frame}" for frame in outcome.evidence.frames)
    return text


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
