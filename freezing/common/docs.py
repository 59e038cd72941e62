"""The suite ``docs``: the examples of public docstrings, run twice, admitted, and frozen as cases and reasons.

    python -m freezing.FRAMEWORK.docs FOLDER SURFACE

SURFACE is the framework's in the catalogue. Each example is run by two interpreters that hash otherwise, every time in
a process of its own with a time limit; what a run leaves stands in a file in FOLDER, and one that is there is not made
again. Then the suite's files are written.
"""

from __future__ import annotations

import gzip
import json
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
from freezing.common.parts import ENDED, LISTED, Reason, drawn_apart, list_left_out, write_part
from runners.suite.device import Device
from runners.suite.examples import Dialect
from runners.suite.framework import Framework
from runners.suite.frozen import PACK, Pack, PackWriter

LIMIT_S = 20
"""For one run of an example: a tenth of a second is usual."""
FIRST, SECOND = "first", "second"
RUNS: Mapping[str, tuple[int, ...]] = {FIRST: (0,), SECOND: (1, 2, 3, 4, 5)}
"""By the name of a run the seeds: from each the example is run once, one after the other in one process. The first
of them is that of Python's hashes."""
NO_EXAMPLE = "no example in its docstring"
EXCEPTION = "an exception"
NOT_RUN = "its example was not run yet"
ADMIT = "admit"
"""The stage after the runs."""


@dataclass(frozen=True)
class Docs:
    """A framework's examples, as they are frozen."""

    framework: Framework
    module: str
    """The module whose command this is, for another interpreter to run."""
    dialect: Dialect
    left_open: LeftOpen
    unasked: Mapping[str, str]
    """The beginnings of names whose examples are not run at all, each with the reason."""
    writers: tuple[str, ...] = ()
    """The framework's modules that write what they make of an example's source into a file: ``Watch``."""

    def device(self) -> Device:
        """The host, on which examples are run."""
        return self.framework.load_device("cpu")

    @property
    def suite(self) -> str:
        """The package of the suite."""
        return self.framework.suites["docs"]

    @property
    def folder(self) -> Path:
        return Path(__file__).resolve().parents[2].joinpath(*self.suite.split("."))


def entries_of(surface: Path) -> list[Mapping[str, Any]]:
    """Every public name of a surface of the catalogue, in order."""
    _, *entries = map(json.loads, gzip.decompress(surface.read_bytes()).splitlines())
    return sorted(entries, key=lambda entry: (entry["name"].count("."), entry["name"]))


def units(
    entries: Iterable[Mapping[str, Any]], text_of: Callable[[str], str], reasons_by_home: Mapping[str, str]
) -> tuple[list[Unit], list[Reason]]:
    """The examples of these names, each once, and the names that have none, or whose examples are not asked for."""
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
    """The docstring of a public object, or nothing."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            text = getattr(lookup(name), "__doc__", None)
    except Exception:  # a name that is offered and cannot be had
        return ""
    return text if isinstance(text, str) else ""


def run_all(docs: Docs, own_units: Sequence[Unit], folder: Path, run: str) -> None:
    """Run every example that has no file of this run yet; in the second without what was dropped in the first."""
    # A run has another working directory.
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
    """Decide about every example by its two runs."""
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
    """Write the suite's two files, and say how many functions they have."""
    pack.write(docs.folder / PACK, {docs.framework.name: version})
    (docs.folder / LISTED).write_text(list_left_out(left_out, docs.framework.name, version))
    value_cases = sum(case["kind"] == "value" for case in pack.cases)
    print(f"{value_cases:,} functions are compared, {len(pack.cases) - value_cases:,} merely run")


def main(docs: Docs, begin: Callable[[str], str], arguments: Sequence[str]) -> int:
    """Freeze the suite, every stage in an interpreter of its own. ``begin`` brings in the framework for a stage, and
    returns its version."""
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
    own_units, left_out = units(entries_of(Path(arguments[1])), partial(text_of, lookup), docs.unasked)
    if stage == ADMIT:
        pack, reasons = admit_all(docs, own_units, folder)
        write(docs, pack, [*left_out, *reasons], version)
    else:
        run_all(docs, own_units, folder, stage)
    return 0
