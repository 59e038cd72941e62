"""Freeze the suite ``docs``: run the examples of public docstrings, decide about each, and write the suite's files.

    python -m freezing.FRAMEWORK.docs FOLDER SURFACE

SURFACE is the framework's file in the catalogue. Two interpreters with different hash seeds run each example, each time
in a separate process with a time limit. Each run writes a file into FOLDER. A run whose file exists is not repeated.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from freezing.common.admission import LeftOpen, admit
from freezing.common.docstrings import Docstring, read
from freezing.common.observation import Conditions, ObservationFile, Unit, observe
from freezing.common.parts import ENDED, LISTED, Reason, drawn_apart, entries_of, list_left_out, write_part
from runners.suite.device import Device
from runners.suite.examples import Dialect
from runners.suite.framework import Framework
from runners.suite.frozen import PACK, Pack, PackWriter

LIMIT_S = 20
"""The time limit of one run of an example. Most runs take a tenth of a second."""
FIRST, SECOND = "first", "second"
RUNS: Mapping[str, tuple[int, ...]] = {FIRST: (0,), SECOND: (1, 2, 3, 4, 5)}
"""The seeds of each run. A run executes the example once for each of its seeds, in one process. The first seed is also
Python's hash seed."""
NO_EXAMPLE = "no example in its docstring"
EXCEPTION = "an exception"
NOT_RUN = "its example was not run yet"
ADMIT = "admit"
"""The name of the stage after the runs."""


@dataclass(frozen=True)
class Docs:
    """The parts of freezing ``docs`` that depend on the framework."""

    framework: Framework
    module: str
    """The module that other interpreters run with ``python -m``."""
    dialect: Dialect
    left_open: LeftOpen
    unasked: Mapping[str, str]
    """Maps prefixes of names whose examples are not run to the reasons."""
    writers: tuple[str, ...] = ()
    """The framework's modules that may write files, as for ``ExampleGuard``."""

    def device(self) -> Device:
        """Load the CPU, on which examples are run."""
        return self.framework.load_device("cpu")

    @property
    def suite(self) -> str:
        """The suite's package."""
        return self.framework.suites["docs"]

    @property
    def folder(self) -> Path:
        return Path(__file__).resolve().parents[2].joinpath(*self.suite.split("."))


def units(
    entries: Iterable[Mapping[str, Any]], text_of: Callable[[str], str], reasons_by_home: Mapping[str, str]
) -> tuple[list[Unit], list[Reason]]:
    """Return the examples of these names without duplicates, and the reason for each name whose example is not run."""
    names: dict[Docstring, list[str]] = defaultdict(list)
    members: set[str] = set()
    left_out: list[Reason] = []
    for entry in entries:
        name = entry["name"]
        home, _, own = name.rpartition(".")
        reason = EXCEPTION if entry["kind"] == "exception" else _why_unasked(name, reasons_by_home)
        docstring = None if reason else read(text_of(name))
        if docstring is None or not (docstring.statements or docstring.unread):
            left_out.append((home, own, reason or NO_EXAMPLE, ""))
            continue
        names[docstring].append(name)
        if entry["kind"] not in ("function", "class"):
            members.add(name)
    own_units = [Unit(tuple(own), docstring, frozenset(members.intersection(own))) for docstring, own in names.items()]
    return own_units, left_out


def _why_unasked(name: str, reasons_by_home: Mapping[str, str]) -> str | None:
    return next((reason for home, reason in reasons_by_home.items() if f"{name}.".startswith(f"{home}.")), None)


def text_of(lookup: Callable[[str], Any], name: str) -> str:
    """Return the docstring of a public object, or an empty text."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            text = getattr(lookup(name), "__doc__", None)
    except Exception:  # a public name may fail to load
        return ""
    return text if isinstance(text, str) else ""


def run_all(docs: Docs, own_units: Sequence[Unit], folder: Path, run: str) -> None:
    """Run every example that has no file of this run yet. The second run omits statements that the first dropped."""
    # Resolve the path, because a run changes its working directory.
    place = (folder / run).resolve()
    place.mkdir(parents=True, exist_ok=True)
    for number, unit in enumerate(own_units):
        path = place / f"{number:04}.npz"
        if path.exists():
            continue
        before = observation(folder, FIRST, number) if run == SECOND else None
        if before is not None and (before.ended or before.refused):
            write_part(PackWriter(), [(unit.names[0], "", ENDED, "in the run before")], path)
            continue
        conditions = Conditions(RUNS[run], frozenset(before.dropped) if before else frozenset(), docs.writers)
        with tempfile.TemporaryDirectory() as room:
            draw = partial(observe, unit, docs.device(), docs.dialect, conditions, room)
            drawn_apart(unit.names[0], path, draw, limit_s=LIMIT_S)
        print(f"{run} {number + 1}/{len(own_units)} {unit.names[0]}", flush=True)


def observation(folder: Path, run: str, number: int) -> ObservationFile:
    return ObservationFile(Pack(folder / run / f"{number:04}.npz"))


def admit_all(docs: Docs, own_units: Sequence[Unit], folder: Path) -> tuple[PackWriter, list[Reason]]:
    """Decide about every example from its two runs. Return the cases, and the reasons for everything left out."""
    pack = PackWriter()
    left_out: list[Reason] = []
    for number, unit in enumerate(own_units):
        if not (folder / SECOND / f"{number:04}.npz").exists():
            left_out += [(name, "", NOT_RUN, "") for name in unit.names]
            continue
        first, second = (observation(folder, run, number) for run in RUNS)
        admission = admit(unit, first, second, docs.left_open, pack)
        left_out += admission.left_out
        if admission.case is not None:
            pack.cases.append(admission.case)
    pack.cases.sort(key=lambda case: str(case["function"]))
    return pack, left_out


def write(docs: Docs, pack: PackWriter, left_out: Sequence[Reason], version: str) -> None:
    """Write the suite's two files, and print how many functions are compared."""
    pack.write(docs.folder / PACK, {docs.framework.name: version})
    (docs.folder / LISTED).write_text(list_left_out(left_out, docs.framework.name, version))
    value_cases = sum(case["kind"] == "value" for case in pack.cases)
    print(f"{value_cases:,} functions are compared, {len(pack.cases) - value_cases:,} merely run")


def main(docs: Docs, begin: Callable[[str], str], arguments: Sequence[str]) -> int:
    """Freeze the suite, with each stage in a separate interpreter.

    ``begin`` imports the framework for a stage and returns its version.
    """
    os.environ.update({**docs.framework.devices["cpu"].variables, "PYTHONDONTWRITEBYTECODE": "1"})
    warnings.simplefilter("ignore")
    if len(arguments) == 2:
        for stage in (*RUNS, ADMIT):
            hashes, *_ = RUNS.get(stage, RUNS[FIRST])
            command = [sys.executable, "-m", docs.module, *arguments, stage]
            subprocess.run(command, env={**os.environ, "PYTHONHASHSEED": str(hashes)}, check=True)
        return 0
    if len(arguments) != 3 or arguments[2] not in (*RUNS, ADMIT):
        print(f"usage: python -m {docs.module} FOLDER SURFACE", file=sys.stderr)
        return 2
    folder, stage = Path(arguments[0]), arguments[2]
    version = begin(stage)
    lookup = docs.device().lookup
    entries = sorted(entries_of(Path(arguments[1])), key=lambda entry: (entry["name"].count("."), entry["name"]))
    own_units, left_out = units(entries, partial(text_of, lookup), docs.unasked)
    if stage == ADMIT:
        pack, reasons = admit_all(docs, own_units, folder)
        write(docs, pack, [*left_out, *reasons], version)
    else:
        run_all(docs, own_units, folder, stage)
    return 0
