"""``call_sites`` measures how many of the calls that programs make Portolan also finds in the source of four packages.

Each program (``programs/``) uses one package in its framework's environment. Meanwhile, each direct call of a public
function is recorded with its lines. Then the source of the package is read as by ``portolan assess``. Recall is the
share of the recorded calls for which there is a site. Precision is the share of sites whose call was recorded, among
the sites whose expression ran and whose function's calls can be recorded. Precision also counts sites whose value turns
out to be a plain number, or an object of a class that forwards the call.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.call_sites.matching import Agreement, SeenCalls, agreement
from bench.environment import install, python_of
from bench.figure import MeasuredFigure
from bench.place import PROJECT, CannotRunError, folder, say
from coordinator.assess.sources import read_sources

LIMIT_S = 1_800.0
LEAST_RECALL, LEAST_PRECISION = 0.95, 0.97
PROGRAMS = Path(__file__).parent / "programs"


@dataclass(frozen=True)
class Package:
    """A package, and the names of the dependencies that are installed for it in addition to the framework."""

    framework: str
    requirements: Sequence[str]


_FLAX = ("msgpack", "optax==0.2.8", "treescope", "rich", "markdown-it-py", "mdurl", "pygments", "pyyaml")
_TIMM = ("torchvision==0.24.0", "pillow", "safetensors", "huggingface_hub==2.4.0")
PACKAGES: Mapping[str, Package] = {
    "optax": Package("jax", ("optax==0.2.8", "chex==0.1.92", "toolz")),
    "flax": Package("jax", ("flax==0.12.8", *_FLAX)),
    "torchvision": Package("torch", ("torchvision==0.24.0", "pillow")),
    "timm": Package("torch", ("timm==1.0.31", *_TIMM)),
}


def run() -> Iterator[MeasuredFigure]:
    with folder() as place:
        for name, package in PACKAGES.items():
            say("call_sites", name)
            package_folder = install(place / name, package.framework, package.requirements)
            yield from _figures(name, package, _agreement(name, package, package_folder))


def _figures(name: str, package: Package, result: Agreement) -> Iterator[MeasuredFigure]:
    for figure, share, of, least, n in (
        ("recall", result.recall, "of the calls that ran", LEAST_RECALL, result.calls),
        ("precision", result.precision, "of the sites whose expression ran", LEAST_PRECISION, result.sites),
    ):
        detail = {"requirements": list(package.requirements)}
        yield MeasuredFigure(
            f"{figure}_{name}", share, of, target=f"{least:.0%}", met=share >= least, n=n, detail=detail
        )


def _agreement(name: str, package: Package, package_folder: Path) -> Agreement:
    command = [python_of(package.framework), "-W", "ignore", "-m", "bench.call_sites.seen"]
    program = str(PROGRAMS / f"{name}_calls.py")
    variables = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join((str(PROJECT), str(package_folder))),
        "JAX_PLATFORMS": "cpu",
    }
    completed_process = subprocess.run(
        [*command, package.framework, name, program],
        env=variables,
        cwd=package_folder,
        stdout=subprocess.PIPE,
        timeout=LIMIT_S,
        check=False,
    )
    if completed_process.returncode:
        raise CannotRunError(
            f"{program} failed in {package.framework}'s environment: correct the error in the traceback above"
        )
    seen_calls = SeenCalls.of(json.loads(completed_process.stdout))
    source = read_sources(package_folder / name, frameworks=[package.framework])
    return agreement(source.sites, seen_calls, package.framework)
