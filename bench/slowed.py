"""A real runner on which calls of some functions take half as long again: ``python -m bench.slowed serve …``.

The zygote is also started through this file, so that every forked child has the slowdown. After a call of a chosen
function, the child waits for the result and then stays busy until ``FACTOR`` times the call's duration has passed.
Everything else is the product's own code.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter_ns
from typing import Any, cast

# The zygote runs this file as a script, in an interpreter in which the project is not installed.
sys.path.insert(0, str(Path(__file__).absolute().parents[1]))

from runners import cli, frameworks
from runners.isolation import fork_server, zygote
from runners.suite.cases import Case, Context
from runners.suite.framework import Framework
from runners.suite.suites import Suite

VARIABLE = "PORTOLAN_BENCH_SLOWED"
FACTOR = 1.5


class SlowedFramework:
    """The framework. Calls of some of its functions are slowed."""

    def __init__(self, framework: Framework, functions: Sequence[str]) -> None:
        self._framework = framework
        self._functions = functions

    def __getattr__(self, name: str) -> Any:
        return getattr(self._framework, name)

    def load_suites(self) -> dict[str, Suite]:
        suites = self._framework.load_suites()
        # The revision is computed before the cases are changed, because a slowed case is still the same case.
        for suite in suites.values():
            suite.revision  # noqa: B018
        for function in (function for suite in suites.values() for function in suite.functions):
            if function.name in self._functions:
                function.cases[:] = [slow_down(case, self._framework) for case in function.cases]
        return suites


def slow_down(case: Case, framework: Framework) -> Case:
    def prepare(context: Context, *arguments: Any, **options: Any) -> Callable[[], Any]:
        call = case.prepare(context, *arguments, **options)
        wait = framework.load_device(context.target).wait

        def longer() -> Any:
            began = perf_counter_ns()
            result = call()
            wait(result)
            until = perf_counter_ns() + (FACTOR - 1) * (perf_counter_ns() - began)
            while perf_counter_ns() < until:
                pass
            return result

        return longer

    return replace(case, prepare=prepare)


def main(arguments: list[str]) -> int:
    if arguments[0] == "serve":
        fork_server.LAUNCHER = Path(__file__).absolute()
        return cli.main(arguments)
    load, functions = frameworks.load, json.loads(os.environ[VARIABLE])
    frameworks.load = lambda name: cast(Framework, SlowedFramework(load(name), functions))
    return zygote.main(arguments[1:])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
