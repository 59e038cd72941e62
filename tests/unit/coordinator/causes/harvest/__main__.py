"""Runs the probes of one framework, device and part, each through ``harness.run_case``.

If a probe kills its process or never ends, a new process continues with the next probe.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from protocol.enums import Ending, TimingPolicy, Verdict
from protocol.outcomes import Evidence, Outcome
from runners.isolation.harness import FreeTimingLock, run_case
from runners.isolation.observations import as_message
from tests.unit.coordinator.causes.harvest.calls import part_of

PATIENCE_S = 30.0


def probe_all(framework: str, device_name: str, part: str, out: Path, function: str, call: str) -> None:
    """In a child process: run the probes after this one (all probes if it is None), and write the failures."""
    declaration = importlib.import_module(f"runners.{framework}").FRAMEWORK
    device = declaration.load_device(device_name)
    calls = importlib.import_module(f"tests.unit.coordinator.causes.harvest.{framework}_calls")
    calls.set_up()
    device.prime()
    threading.Thread(target=_watch, daemon=True).start()
    has_begun = not function

    def is_chosen(name: str) -> bool:
        nonlocal has_begun
        if has_begun and part_of(name) == part:
            # Finding its arguments may end the process before its first probe.
            _say(sink, function=name, trying=True)
            return True
        if not has_begun and name == function:
            has_begun = True
            return bool(call)
        return False

    waiting = bool(call)
    with out.open("a") as sink:
        for probe in calls.probes(device, is_chosen):
            if waiting:
                waiting = (probe.function, probe.call) != (function, call)
                continue
            _say(sink, function=probe.function, call=probe.call)
            case = probe.function_with_case().cases[0]
            _NOW["since"] = time.monotonic()
            with device.scope(case.dtype):
                device.lookup = lambda name: None
                outcome = run_case(device, case, TimingPolicy.off, FreeTimingLock(), position=0, init_ms=0.0)
            if outcome.verdict is not Verdict.passed:
                message = as_message(outcome)
                message["duration_s"] = round(outcome.duration_s, 3)
                _say(sink, outcome=message, version=device_version(framework))
        _say(sink, done=True)


def device_version(framework: str) -> str:
    return str(sys.modules[framework].__version__)


_NOW = {"since": time.monotonic() + 60}


def _watch() -> None:
    while time.monotonic() - _NOW["since"] < PATIENCE_S:
        time.sleep(1)
    os._exit(124)


def _say(sink: Any, **what: Any) -> None:
    sink.write(json.dumps(what) + "\n")
    sink.flush()


def main(framework: str, device: str, part: str, target: str) -> None:
    declaration = importlib.import_module(f"runners.{framework}").FRAMEWORK
    environment = {**os.environ, **declaration.devices[device].variables}
    out = Path(tempfile.mkstemp(suffix=".jsonl")[1])
    last = {"function": "", "call": ""}
    while True:
        command = [
            sys.executable,
            "-m",
            __spec__.name,
            framework,
            device,
            part,
            str(out),
            last["function"],
            last["call"],
        ]
        child = subprocess.run(command, env=environment, capture_output=True, check=False)
        lines = [json.loads(line) for line in out.read_text().splitlines()]
        if lines and lines[-1].get("done"):
            break
        function_lines = [line for line in lines if "function" in line]
        if not function_lines or function_lines[-1] == last:
            raise SystemExit(child.stderr.decode(errors="replace")[-3000:])
        last = {"call": "", **function_lines[-1]}
        if last["call"]:
            with out.open("a") as sink:
                _say(sink, outcome=_death(child).model_dump(mode="json", exclude_defaults=True))
    _write(lines, framework, device, Path(target))


def _death(child: subprocess.CompletedProcess[bytes]) -> Outcome:
    log = child.stderr.decode(errors="replace")[-2000:]
    if child.returncode == 124:
        ending, evidence = Ending.timed_out, Evidence()
    elif child.returncode < 0:
        ending, evidence = Ending.signalled, Evidence(signal=signal.Signals(-child.returncode).name)
    else:
        ending, evidence = Ending.exited, Evidence(exit_code=child.returncode)
    return Outcome(verdict=Verdict.failed, ending=ending, duration_s=1, evidence=evidence, log_tail=log)


def _write(lines: list[dict[str, Any]], framework: str, device: str, target: Path) -> None:
    version = next((line["version"] for line in lines if "version" in line), "")
    call_line: dict[str, Any] = {}
    with target.open("w") as sink:
        for line in lines:
            if "call" in line:
                call_line = line
            elif "outcome" in line:
                where = {"framework": framework, "version": version, "device": device}
                _say(sink, **where, **call_line, outcome=line["outcome"])
    calls = sum("call" in line for line in lines)
    print(f"{calls} calls, {sum('outcome' in line for line in lines)} failures")


if __name__ == "__main__":
    if len(sys.argv) == 7:
        probe_all(*sys.argv[1:4], Path(sys.argv[4]), *sys.argv[5:])
    else:
        main(*sys.argv[1:])
