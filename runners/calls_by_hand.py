"""Records how handwritten cases call their functions. Only the code of such a case determines its calls.

    python -m runners.calls_by_hand FRAMEWORK

Each such case runs once on the host. Its function is wrapped in another function, which records the arguments. The
arguments of passing cases are written to a file next to their suite, which ``runners/suite/options.py`` reads. The
calls of two kinds of cases stay unknown: cases that do not pass, and cases that do not call the wrapped function.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import Any

from protocol.enums import TimingPolicy, Verdict
from runners import frameworks
from runners.isolation.harness import FreeTimingLock, run_case
from runners.suite.cases import Case
from runners.suite.device import Device
from runners.suite.options import SeenCall, options_of, recorded_options
from runners.suite.suites import RECORDED, Suite


def record(suite: Suite, device: Device) -> dict[str, dict[str, Any]]:
    """Run the suite's cases and return the recorded options by case id."""
    unknown = [case for case in suite.cases if "calls" not in options_of(case)]
    options_by_case = {case.id: options_seen(device, case) for case in unknown}
    return {id: options for id, options in sorted(options_by_case.items()) if options is not None}


def options_seen(device: Device, case: Case) -> dict[str, Any] | None:
    """Run a case on this device, and return the options with which it calls its function; None if it does not call the
    function."""
    try:
        function = case.given or device.lookup(case.looked_up)
    except LookupError:
        return None
    calls: list[SeenCall] = []
    wrapped_case = replace(case, given=_wrap(function, case.looked_up.rpartition(".")[2], calls))
    observation = run_case(device, wrapped_case, TimingPolicy.off, FreeTimingLock(), position=0, init_ms=0.0)
    has_passed = observation.verdict is Verdict.passed
    return recorded_options(case, calls) if has_passed and calls else None


def _wrap(function: Any, name: str, calls: list[SeenCall]) -> Callable[..., Any]:
    """Wrap a function so that each call's arguments are recorded in ``calls``, under this name."""

    def call_and_note(*arguments: Any, **keywords: Any) -> Any:
        is_of_first = bool(arguments) and getattr(type(arguments[0]), name, None) is function
        calls.append(SeenCall(arguments, keywords, is_of_first))
        return function(*arguments, **keywords)

    # A callable object may have no name.
    return wraps(function, updated=())(call_and_note)


def main(arguments: Sequence[str]) -> int:
    if len(arguments) != 1:
        print("usage: python -m runners.calls_by_hand FRAMEWORK", file=sys.stderr)
        return 2
    framework = frameworks.load(arguments[0])
    os.environ.update(framework.devices["cpu"].variables)
    warnings.simplefilter("ignore")
    device = framework.load_device("cpu")
    device.prime()
    for suite in framework.load_suites().values():
        place = Path(str(import_module(suite.module).__file__))
        if place.name != "__init__.py":
            # The quick form of a suite has the cases of the full suite.
            continue
        options_by_case = record(suite, device)
        lines = [f"{json.dumps(id)}: {json.dumps(options)}" for id, options in options_by_case.items()]
        if lines:
            place.with_name(RECORDED).write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
        print(f"{suite.name}: {len(lines)} cases")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
