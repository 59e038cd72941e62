"""``python -m bench [NAME ...]`` runs all benches, or the named ones.

Each measured value (``MeasuredFigure``) is printed on stdout as one line of JSON. Progress goes to stderr. The exit
code is 0 if all benches ran, whatever they measured, and 2 if a bench could not run.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import subprocess
import sys
from collections.abc import Sequence

from bench.figure import here
from bench.place import PROJECT, CannotRunError, say

BENCHES: dict[str, tuple[str, ...]] = {
    "isolation": ("torch",),
    "timing": ("torch", "tensorflow", "jax"),
    "dispatch": (),
    "scale": (),
    "memory": (),
    "usage": (),
    "call_sites": (),
    "assess": (),
    "recording": ("torch",),
    "repeatability": (),
    "pages": (),
    "atlas": (),
    "publish": (),
    "library": (),
    "truth": ("torch", "tensorflow", "jax"),
}
"""The benches, each with the frameworks in whose environments it runs. A bench without frameworks runs in the
environment of this command."""
HERE_TOO = frozenset({"truth"})
"""Benches that also run in an environment without a framework."""


def main(arguments: Sequence[str]) -> int:
    unknown = [name for name in arguments if name not in BENCHES]
    if unknown:
        print(f"there is no bench {unknown[0]!r}: choose one of {', '.join(BENCHES)}", file=sys.stderr)
        return 2
    # If one bench fails, the others still run.
    return max([run(name) for name in arguments or BENCHES])


def run(name: str) -> int:
    bench = BENCHES[name]
    try:
        apart = bench and not any(map(importlib.util.find_spec, bench))
        if not apart or name in HERE_TOO:
            where = here()
            for figure in importlib.import_module(f"bench.{name}").run():
                print(figure.line(name, where), flush=True)
        if apart:
            return max([_elsewhere(name, framework) for framework in bench])
    except CannotRunError as error:
        print(f"bench {name} cannot run: {error}", file=sys.stderr)
        return 2
    return 0


def _elsewhere(name: str, framework: str) -> int:
    """Run the bench in the framework's environment, and return its exit code."""
    from bench.environment import python_of

    python = python_of(framework)
    say(name, f"in {framework}'s environment")
    paths = [str(PROJECT), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    # Warnings of the framework matter only to authors of cases.
    command = [python, "-W", "ignore", "-m", "bench", name]
    completed_process = subprocess.run(command, env=variables, cwd=PROJECT, check=False)
    return 0 if completed_process.returncode == 0 else 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
