"""The baseline for isolation: runs cases one after another in this process, without forking.

``python -m bench.one_process FRAMEWORK DEVICE SUITE [FUNCTION ...]`` imports the framework, primes the device, runs the
cases with the product's harness, and prints the durations as JSON.
"""

from __future__ import annotations

import json
import os
import sys
import time

from protocol.enums import TimingPolicy
from runners import frameworks
from runners.isolation import numpy_threads
from runners.isolation.harness import FreeTimingLock, run_case


def main(arguments: list[str]) -> None:
    framework, name, suite, *functions = arguments
    # The output of the cases is not needed, and may be long.
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    module = frameworks.load(framework)
    os.environ.update(frameworks.variables(module, name))
    device = frameworks.load_device(module, name)
    cases = [case for case in module.load_suites()[suite].cases if not functions or case.function in functions]
    numpy_threads.compute_on_one_thread()
    device.prime()
    began = time.monotonic()
    for position, case in enumerate(cases):
        run_case(device, case, TimingPolicy.off, FreeTimingLock(), position=position, init_ms=0.0)
    print(json.dumps({"cases": len(cases), "cases_s": time.monotonic() - began}), file=answer, flush=True)
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
