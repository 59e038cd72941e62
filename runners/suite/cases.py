"""A case, and the classes to write one with: ``Function``, ``Inputs``, ``Context``.

The modules of a framework's suites are written with these. Nothing here imports a framework; the runner executes
cases in ``isolation/harness.py``, and ``checks.py`` compares their results.
"""

from __future__ import annotations

import hashlib
import importlib
import pkgutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from types import ModuleType
from typing import Any, Union

import numpy as np

from protocol.enums import REFUSES, CaseKind
from protocol.host_only import load_host_only
from runners.suite.checks import TOLERANCES, Tolerance

MakeArguments = Callable[["Inputs"], Sequence[Any]]
"""Makes the positional arguments of a case: NumPy arrays, which are moved to the device, or plain values."""
Prepare = Callable[..., Callable[[], Any]]
"""``prepare(context, *arguments, **options)``: works before the clock starts, and returns the call to time."""
Check = Callable[..., None]
"""``check(observed, *arguments, **options)``: raises ``checks.Mismatch`` if the result is wrong."""
InPlace = Union[bool, tuple[int, ...]]
"""The arguments that a call may change: all of them, none, or those at these positions."""


@dataclass(frozen=True)
class Context:
    """The surroundings of a case: the function under test, already looked up, and the device it is forced to."""

    function: Any
    device: Any
    """The framework's own device object (``torch.device('xla:0')``)."""
    target: str
    """The device's word in a target: ``cpu``, ``cuda``, ``xla``, …"""
    dtype: Any
    """The framework's own dtype object for the case's dtype."""
    to_device: Callable[[Any], Any]
    """Moves a NumPy array (or a tree of them) to the device in the case's dtype."""
    compiled: Callable[[Callable[..., Any]], Callable[..., Any]] = lambda call: call
    """Wraps a call as the device demands it (``Device.compiled``); left out where no computation is tested."""
    surroundings: Callable[..., AbstractContextManager[None]] = lambda so_far=None: nullcontext()
    """Held while a call does what is not its function's, such as making a mask to test the size of what it selects:
    what runs on the device or on the host meanwhile says nothing about the function. Takes what the call is to return
    already, as reading that is no work of the host."""
    to_host: Callable[[Any], Any] = lambda tree: tree
    """Waits for the arrays of a tree and copies them to the host."""


@dataclass(frozen=True)
class Inputs:
    """A case's source of inputs: a NumPy generator seeded from the case id, behind short names.

    Floating arrays are made in float64 and rounded to the case's dtype before both the device
    and the reference see them, so the reference works on exactly the values that were moved.
    """

    rng: np.random.Generator
    seed: int

    def normal(self, *shape: int) -> np.ndarray[Any, Any]:
        return self.rng.standard_normal(shape)

    def uniform(self, *shape: int, low: float = 0.0, high: float = 1.0) -> np.ndarray[Any, Any]:
        return self.rng.uniform(low, high, shape)

    def integers(self, *shape: int, low: int = -10, high: int = 10, dtype: str = "int64") -> np.ndarray[Any, Any]:
        return self.rng.integers(low, high, shape).astype(dtype)

    def booleans(self, *shape: int) -> np.ndarray[Any, Any]:
        return self.rng.random(shape) < 0.5

    def distinct(self, *shape: int) -> np.ndarray[Any, Any]:
        """Values in random order whose neighbours in size stay apart in every float type."""
        count = int(np.prod(shape, dtype=np.int64))
        return (self.rng.permutation(count).astype(np.float64) - count // 2).reshape(shape) / 2


@dataclass(frozen=True)
class Case:
    """One test of one function. Exactly one of ``reference`` and ``check`` is given.

    ``reference`` gets the host arguments (floating arrays as float64, rounded to ``dtype``)
    and returns what the call must return, as a tree of NumPy values; ``check`` gets the host
    copy of what the call returned, then the same arguments.
    """

    id: str
    function: str
    kind: CaseKind
    dtype: str
    arguments: MakeArguments
    prepare: Prepare
    options: Mapping[str, Any]
    tolerance: Tolerance
    reference: Callable[..., Any] | None = None
    check: Check | None = None
    host_only: str | None = None
    tags: tuple[str, ...] = ()
    looked_up: str = ""
    """The name under which the framework has the function: ``function``, unless that is an alias."""
    given: Callable[..., Any] | None = None
    """The function itself, where no framework has it."""
    refuses: bool = False
    """Whether the case expects a refusal: an error in place of a result. That it passes shows nothing of the device,
    so it is in no count of what works there, and has no latency."""
    in_place: InPlace = False
    """The arguments that the call may change; any other must be after it as it was given."""
    unrepeatable: str | None = None
    """Why the same call may give another result when it is repeated (its state goes on), or None. A later result is
    judged as the first is: of such a case that of a call which is prepared anew."""
    not_applicable: Callable[[Context], str | None] | None = None
    """Says why there is nothing to test here (fewer devices than a collective needs), or None."""

    @property
    def seed(self) -> int:
        """The same on every target, run and machine: it comes from the id alone."""
        return seed_of(self.id)

    def may_change(self, position: int) -> bool:
        """Whether the call may change the argument at a position."""
        return self.in_place if isinstance(self.in_place, bool) else position in self.in_place

    def inputs(self) -> Inputs:
        return Inputs(np.random.default_rng(self.seed), self.seed)


@dataclass(frozen=True)
class TakenApart:
    """A result and what it must be, taken apart by the ``take_apart`` of a case's ``prepare``, if that has one."""

    own: tuple[Case, Any, Any]
    """The case as it judges the values that are the function's, those observed, and those expected."""
    others: tuple[Case, Any, Any]
    """The same of values that other lines of the case have given."""
    ended: str | None
    """How the call ended before its time at such a line, in words."""


def seed_of(case_id: str) -> int:
    return int.from_bytes(hashlib.sha256(case_id.encode()).digest()[:4], "big")


def just_call(context: Context, *arguments: Any, **options: Any) -> Callable[[], Any]:
    return context.compiled(partial(context.function, *arguments, **options))


@dataclass
class Function:
    """One charted function and its cases: ``value``, ``statistics`` and ``behaviour`` each add one.

    ``prepare``, ``reference``, ``in_place`` and ``unrepeatable`` given here serve all its cases that bring none.
    """

    name: str
    reference: Callable[..., Any] | None = None
    prepare: Prepare = just_call
    host_only: str | None = None
    """Why it never touches a device. A framework's own is declared in ``protocol/host_only.json``, for all suites."""
    in_place: InPlace = False
    unrepeatable: str | None = None
    alias_of: str | None = None
    """The name under which the framework has it, where the paper printed it misspelled. A function
    that has moved, or is gone, is no alias: it is removed under its own name."""
    given: Callable[..., Any] | None = None
    """The function itself, where no framework has it: the runner's own (``conformance.py``)."""
    cases: list[Case] = field(default_factory=list)

    def value(
        self,
        name: str,
        arguments: MakeArguments,
        *,
        dtype: str = "float32",
        reference: Callable[..., Any] | None = None,
        prepare: Prepare | None = None,
        tolerance: Tolerance | None = None,
        in_place: InPlace | None = None,
        unrepeatable: str | None = None,
        tags: Iterable[str] = (),
        **options: Any,
    ) -> None:
        """A case whose every returned value is compared with a reference. ``options`` are keyword arguments."""
        case_reference = reference or self.reference
        if case_reference is None:
            raise TypeError(f"{self.name}/{name}: a value case needs a reference")
        self._add(
            name,
            "value",
            arguments,
            dtype,
            prepare,
            tolerance,
            tags,
            options,
            in_place=in_place,
            unrepeatable=unrepeatable,
            reference=case_reference,
        )

    def statistics(
        self,
        name: str,
        arguments: MakeArguments,
        check: Check,
        *,
        dtype: str = "float32",
        prepare: Prepare | None = None,
        in_place: InPlace | None = None,
        unrepeatable: str | None = None,
        tags: Iterable[str] = (),
        **options: Any,
    ) -> None:
        """A case about random numbers: the device's own generator, judged by its statistics."""
        self._add(
            name,
            "statistics",
            arguments,
            dtype,
            prepare,
            None,
            tags,
            options,
            in_place=in_place,
            unrepeatable=unrepeatable,
            check=check,
        )

    def behaviour(
        self,
        name: str,
        arguments: MakeArguments,
        check: Check,
        *,
        dtype: str = "float32",
        prepare: Prepare | None = None,
        refuses: bool = False,
        in_place: InPlace | None = None,
        unrepeatable: str | None = None,
        tags: Iterable[str] = (),
        **options: Any,
    ) -> None:
        """A case about something else that the function promises: identity, state, or, with ``refuses``, an error."""
        tags = [*tags, REFUSES] if refuses else tags
        self._add(
            name,
            "behaviour",
            arguments,
            dtype,
            prepare,
            None,
            tags,
            options,
            in_place=in_place,
            unrepeatable=unrepeatable,
            check=check,
            refuses=refuses,
        )

    def _add(
        self,
        name: str,
        kind: CaseKind,
        arguments: MakeArguments,
        dtype: str,
        prepare: Prepare | None,
        tolerance: Tolerance | None,
        tags: Iterable[str],
        options: Mapping[str, Any],
        *,
        in_place: InPlace | None,
        unrepeatable: str | None,
        reference: Callable[..., Any] | None = None,
        check: Check | None = None,
        refuses: bool = False,
    ) -> None:
        identifier = f"{self.name}/{name}"
        if any(case.id == identifier for case in self.cases):
            raise TypeError(f"{identifier}: a case of this name exists already")
        self.cases.append(
            Case(
                id=identifier,
                function=self.name,
                kind=kind,
                dtype=dtype,
                arguments=arguments,
                prepare=prepare or self.prepare,
                options=dict(options),
                tolerance=tolerance or TOLERANCES[dtype],
                reference=reference,
                check=check,
                host_only=self.host_only or load_host_only().reason(self.name),
                looked_up=self.alias_of or self.name,
                given=self.given,
                refuses=refuses,
                in_place=self.in_place if in_place is None else in_place,
                unrepeatable=unrepeatable or self.unrepeatable,
                tags=(kind, dtype, *tags),
            )
        )


def collected(package: ModuleType) -> list[Function]:
    """The ``FUNCTIONS`` of a module of cases, or of every module of a package of them in the order of their names."""
    names = sorted(module.name for module in pkgutil.iter_modules(getattr(package, "__path__", [])))
    # A package's ``__main__`` is a program.
    within = [importlib.import_module(f"{package.__name__}.{name}") for name in names if name != "__main__"]
    functions: list[Function] = []
    for module in (package, *within):
        functions += getattr(module, "FUNCTIONS", [])
    strangers = [function for function in functions if not isinstance(function, Function)]
    if strangers:
        raise TypeError(f"FUNCTIONS holds a {type(strangers[0]).__name__}, and not runners.suite.cases.Function alone")
    return functions
