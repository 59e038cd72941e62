"""The parts of the tests, and their order on a number of cores. Does no I/O."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

MATRIX = "tests/faults/matrix/test_fault_matrix.py"
COORDINATOR_FOLDERS = ("tests/acceptance", "tests/faults", "tests/integration")
ROTATION = ("-p", "tests.parts.rotation")
FRAMEWORKS = ("jax", "tensorflow", "torch")


@dataclass(frozen=True)
class Part:
    """Tests that run in one environment, as one command of pytest."""

    name: str
    arguments: tuple[str, ...] = ()
    """The arguments of pytest."""
    program: tuple[str, ...] = ()
    """A command instead of pytest. Its tests are not counted."""
    environment: tuple[str, ...] = ()
    """The arguments of ``portolan-runner setup`` for its environment; if empty, it runs in the coordinator's
    environment."""
    workers: int = 1
    """The number of cores that its tests keep busy, each of which takes a slot. A part with 0 mostly waits for a
    container engine."""
    first: bool = False
    """Whether it starts before all others. It tests when processes end, so little may run at the same time."""


def parts(cores: int) -> tuple[Part, ...]:
    """All parts, for this number of cores."""
    # Use two workers per core, because most tests of the coordinator wait for processes over half of their time.
    spread = ("--numprocesses", str(2 * cores), "--dist", "loadfile", "--no-loadscope-reorder")
    return (
        Part("lint", program=("make", "--no-print-directory", "lint")),
        Part("containers", ("tests/containers",), workers=0),
        # This part mostly waits, but a fault may need a core immediately. So only one other part may run beside it.
        Part("faults", (MATRIX,), workers=cores, first=True),
        Part("coordinator", (*ROTATION, *spread, "--ignore", MATRIX, *COORDINATOR_FOLDERS), workers=cores),
        Part("unit", ("tests/unit",)),
        Part("browser", ("tests/browser",)),
        *(framework_part(name, (name,)) for name in FRAMEWORKS),
        framework_part("toy", ("torch", "--with", "./examples/accelerator")),
    )


def framework_part(name: str, environment: tuple[str, ...]) -> Part:
    folder = f"tests/frameworks/{name}"
    # The folder's conftest.py names the plugin, too, but that is too late for modules that import the levels.
    plugins = ("-p", "tests.levels", *ROTATION)
    return Part(name, (*plugins, "-c", f"{folder}/pytest.ini", folder), environment=environment)


def startable(
    waiting: Sequence[Part], running: Collection[Part], slots: int, seconds: Mapping[str, float]
) -> list[Part]:
    """The parts to start now: the longest first, as many as have slots."""
    starts: list[Part] = []
    free = slots - sum(part.workers for part in running)
    for part in sorted(waiting, key=lambda part: (not part.first, -seconds.get(part.name, 0.0))):
        if part.workers <= free:
            starts.append(part)
            free -= part.workers
    return starts
