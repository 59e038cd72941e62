"""Observe an example: run it on the CPU in a separate process, and write its values to a file.

A statement that raises or does something forbidden is dropped, and the run continues without it. The file has the
values by label, and the dropped statements with their reasons.
"""

from __future__ import annotations

import ast
import json
import os
import random
import tempfile
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import numpy as np

from freezing.common.docstrings import Docstring, agrees
from freezing.common.flow import places_that_use
from freezing.common.watch import FILES, ExampleGuard
from runners.errors import LeftOutError, UnfreezableError
from runners.suite.checks import Leaf, leaves
from runners.suite.device import Device
from runners.suite.examples import (
    Dialect,
    Session,
    Statement,
    comparable,
    kept,
    names_for,
    step_of,
    with_those_of_python,
)
from runners.suite.frozen import Pack, PackWriter, Slot, as_text, decode, form
from runners.suite.reseeding import Reseeded
from runners.suite.trees import numbers_in

MOST_VALUES = 2_000
"""The maximum number of elements and plain numbers in a stored value."""
RAISES = "raises on the CPU"
EXITS = "exits"
NO_VALUES = (ModuleType, FunctionType, BuiltinFunctionType, type)


@dataclass(frozen=True)
class Unit:
    """An example, and the public names whose docstrings contain the example.

    ``members`` are the names of attributes of classes. A statement uses the name in ``members`` if it uses an attribute
    of this name.
    """

    names: tuple[str, ...]
    docstring: Docstring
    members: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Conditions:
    """The conditions of an observation. A compared value must be the same under different conditions."""

    seeds: tuple[int, ...]
    """The example runs once from each seed, in one process. Seeds within the example are replaced accordingly."""
    without: frozenset[int] = frozenset()
    """The places of statements that are not run."""
    writers: tuple[str, ...] = ()
    """The framework's modules that may write files, as for ``ExampleGuard``."""


def observe(unit: Unit, device: Device, dialect: Dialect, conditions: Conditions, room: str, path: Path) -> None:
    """Run an example and write its observation to a file. The process can do nothing else afterwards."""
    os.chdir(room)
    os.environ.update(TMPDIR=room, HOME=room)
    # The module ``tempfile`` may have cached the parent's folder before the fork.
    tempfile.tempdir = room
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    device.prime()
    watch = ExampleGuard(conditions.writers)
    first, *others = [_run(watch, unit, device, dialect, seed, conditions.without) for seed in conditions.seeds]
    about, pack = first
    about["differs"] = sorted({label for _, other in others for label in _differing(pack, other, "result", "expected")})
    about["reshaped"] = sorted({label for _, other in others for label in _differing(pack, other, "form")})
    about["dropped"] = sorted(drop for run, _ in (first, *others) for drop in run["dropped"])
    pack.write(path, about)


def _differing(pack: PackWriter, other: PackWriter, *parts: str) -> set[str]:
    """Return the labels whose values differ between two runs in these parts of a case, or are missing in ``other``."""
    texts, others = ({case["label"]: [case[part] for part in parts] for case in run.cases} for run in (pack, other))
    return {label for label, text in texts.items() if others.get(label) != text}


def _run(
    watch: ExampleGuard, unit: Unit, device: Device, dialect: Dialect, seed: int, without: Collection[int]
) -> tuple[dict[str, Any], PackWriter]:
    pack = PackWriter()
    random.seed(seed)
    np.random.seed(seed)
    device.seed(seed)
    settings = with_those_of_python(dialect.settings())
    before = [setting.read() for setting in settings]
    threads = set(threading.enumerate())
    drops: list[tuple[int, str, str]] = []
    agreement: dict[str, bool] = {}
    session = Session(names_for(_target(unit.names[0], device), unit.names[0], dialect, device.handle))
    with device.scope("float32"), kept(dialect.settings()), dialect.forced(device.handle):
        for statement, output in zip(unit.docstring.statements, unit.docstring.printed):
            if statement.place in without:
                continue
            reason = _why_dropped(watch, session, statement, unit.names[0], _rewriting(dialect, seed))
            if reason is not None:
                drops.append((statement.place, *reason))
                continue
            agrees_here = _agrees(session, statement, output)
            if agrees_here is not None:
                agreement[str(statement.place)] = agrees_here
        unwritten = _write_values(session, device, dialect, pack)
    settings_changed = [setting.name for setting, value in zip(settings, before) if setting.read() != value]
    about = {
        "dropped": drops,
        "agreed": agreement,
        "unwritten": unwritten,
        "refused": _why_refused(settings_changed, _left(watch), set(threading.enumerate()) - threads),
        "uses": _uses(unit, device, session, {place for place, _, _ in drops}.union(without)),
    }
    return about, pack


def _rewriting(dialect: Dialect, seed: int) -> Callable[[ast.Module], ast.Module]:
    def rewritten(tree: ast.Module) -> ast.Module:
        return dialect.rewritten(Reseeded(seed).visit(tree))

    return rewritten


def _why_dropped(
    watch: ExampleGuard,
    session: Session,
    statement: Statement,
    name: str,
    rewritten: Callable[[ast.Module], ast.Module],
) -> tuple[str, str] | None:
    """Run a statement. Return None, or the reason to drop it and a detail."""
    try:
        step = step_of(name, statement, rewritten)
        with watch.watching():
            session.run(step)
    except LeftOutError as error:
        return error.kind, str(error)
    except SystemExit as error:
        return EXITS, repr(error)
    except BaseException as error:  # an example may raise anything
        text = (str(error).strip().splitlines() or [""])[0]
        return RAISES, f"{type(error).__name__}: {text[:100]}"
    return None


def _agrees(session: Session, statement: Statement, output: str) -> bool | None:
    if not output or str(statement.place) not in session.given:
        return None
    try:
        texts = map(str, session.printed) if session.printed else [repr(session.given[str(statement.place)])]
        return agrees(output, "\n".join(texts))
    except Exception:  # an object's ``repr`` may raise
        return None


def _write_values(session: Session, device: Device, dialect: Dialect, pack: PackWriter) -> Mapping[str, str]:
    """Add to the pack each value that can be stored. For every other value, return by its label why it cannot be
    stored."""
    unwritten: dict[str, str] = {}
    for label, value in session.results().items():
        if isinstance(value, NO_VALUES):
            continue
        try:
            tree = device.to_host(comparable(value, dialect))
            if sum(leaf.values.size for leaf in leaves(tree)) + numbers_in(tree) > MOST_VALUES:
                raise UnfreezableError(f"more than {MOST_VALUES:,} numbers")
            result, digests = pack.add_tree(tree)
        except Exception as error:
            text = (str(error).strip().splitlines() or [""])[0][:80]
            unwritten[label] = text if isinstance(error, UnfreezableError) else f"{type(error).__name__}: {text}"
            continue
        case = {"label": label, "form": as_text(form(tree)), "result": result}
        pack.cases.append({**case, "arrays": [], "expected": digests})
    return unwritten


def _left(watch: ExampleGuard) -> list[str]:
    """Return the files that the example left in its folder, except those of the framework's writers."""
    return sorted(name for name in os.listdir() if os.path.realpath(name) not in watch.written)


def _why_refused(
    settings_changed: Sequence[str], left: Sequence[str], threads: set[threading.Thread]
) -> tuple[str, str] | None:
    if settings_changed:
        return "leaves settings of the process changed", ", ".join(settings_changed)
    if left:
        return FILES, f"it leaves {', '.join(left[:3])}"
    if threads:
        return "leaves threads at work", ", ".join(sorted(thread.name for thread in threads))
    return None


def _uses(unit: Unit, device: Device, session: Session, without: set[int]) -> Mapping[str, list[int]]:
    """Return, for each name of the unit, the places of the executed statements that use it."""
    run = [statement for statement in unit.docstring.statements if statement.place not in without]
    uses = {}
    for name in unit.names:
        own = name.rpartition(".")[2] if name in unit.members else None
        uses[name] = places_that_use(run, _target(name, device), own, session.names)
    return uses


def _target(name: str, device: Device) -> Any:
    try:
        return device.lookup(name)
    except LookupError:
        return object()


@dataclass(frozen=True)
class ObservedValue:
    """An observed value as a tree, its form, and a text that is equal for equal values."""

    tree: Any
    form: str
    text: str


class ObservationFile:
    """Reads the file of an observation."""

    def __init__(self, pack: Pack) -> None:
        self._pack = pack
        self._about = pack.about

    @property
    def ended(self) -> tuple[str, str] | None:
        """The reason and a detail if the process ended without an observation, otherwise None."""
        left_out = self._about.get("left_out")
        return (left_out[0][2], left_out[0][3]) if left_out else None

    @property
    def refused(self) -> tuple[str, str] | None:
        """The reason and a detail if the whole example is left out, otherwise None."""
        refusal = self._about["refused"]
        return (refusal[0], refusal[1]) if refusal else None

    @property
    def dropped(self) -> Mapping[int, tuple[str, str]]:
        """The reason and a detail of each dropped statement, by its place."""
        return {place: (reason, detail) for place, reason, detail in self._about["dropped"]}

    @property
    def agreed(self) -> Mapping[str, bool]:
        """Whether a value agrees with the docstring, by label."""
        agreement: Mapping[str, bool] = self._about["agreed"]
        return agreement

    @property
    def unwritten(self) -> Mapping[str, str]:
        reasons: Mapping[str, str] = self._about["unwritten"]
        return reasons

    @property
    def differs(self) -> frozenset[str]:
        """The labels of values that differed between seeds."""
        return frozenset(self._about["differs"])

    @property
    def reshaped(self) -> frozenset[str]:
        """The labels of values whose form differed between seeds."""
        return frozenset(self._about["reshaped"])

    @property
    def uses(self) -> Mapping[str, Sequence[int]]:
        places_by_name: Mapping[str, Sequence[int]] = self._about["uses"]
        return places_by_name

    @cached_property
    def values(self) -> Mapping[str, ObservedValue]:
        return {case["label"]: self._value(case) for case in self._pack.cases}

    def _value(self, case: Mapping[str, Any]) -> ObservedValue:
        digests = case["expected"]

        def leaf(slot: Slot) -> Leaf:
            digest = digests[slot.number]
            return Leaf(self._pack.array(digest), slot.dtype or self._pack.dtype(digest), "")

        tree = decode(json.loads(case["result"]), leaf)
        return ObservedValue(tree, case["form"], f"{case['result']} {digests}")
