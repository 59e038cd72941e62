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
"""``prepare(context, *arguments, **options)``: runs before the clock starts, and returns the call to time."""
Check = Callable[..., None]
"""``check(observed, *arguments, **options)``: raises ``checks.Mismatch`` if the result is wrong."""
InPlace = Union[bool, tuple[int, ...]]
"""The arguments that a call may change: all of them, none, or those at these positions."""


@dataclass(frozen=True)
class Context:
    """The environment of a case: the function under test, already looked up, and the device that it must use."""

    function: Any
    device: Any
    """The framework's own device object (``torch.device('xla:0')``)."""
    target: str
    """The device's name in a target: ``cpu``, ``cuda``, ``xla``, …"""
    dtype: Any
    """The framework's own dtype object for the case's dtype."""
    to_device: Callable[[Any], Any]
    """Moves a NumPy array (or a tree of them) to the device in the case's dtype."""
    compiled: Callable[[Callable[..., Any]], Callable[..., Any]] = lambda call: call
    """Wraps a call as the device requires (``Device.compiled``). Cases that test no computation do not use it."""
    surroundings: Callable[..., AbstractContextManager[None]] = lambda so_far=None: nullcontext()
    """A context manager for code in a call that is not the function's work, such as making a mask for its argument.
    Whatever runs on the device or on the host inside it says nothing about the function. Its argument holds the values
    computed so far that the call will return, because reading these on the host is not a fallback."""
    to_host: Callable[[Any], Any] = lambda tree: tree
    """Waits for the arrays of a tree and copies them to the host."""


@dataclass(frozen=True)
class Inputs:
    """The random inputs of a case, from a NumPy generator that is seeded from the case id.

    Floating arrays are made in float64. They are rounded to the case's dtype before the device and the reference get
    them, so both compute with exactly the same values.
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
        """Distinct multiples of 0.5 in random order, far enough apart to stay distinct in every float type."""
        count = int(np.prod(shape, dtype=np.int64))
        return (self.rng.permutation(count).astype(np.float64) - count // 2).reshape(shape) / 2


@dataclass(frozen=True)
class Case:
    """One test of one function. It has either a ``reference`` or a ``check``.

    ``reference`` takes the host arguments (floating arrays as float64, rounded to ``dtype``) and returns the expected
    result as a tree of NumPy values. ``check`` takes the host copy of the result, then the same arguments.
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
    """The framework's name for the function: the same as ``function``, unless that is an alias."""
    given: Callable[..., Any] | None = None
    """The function itself, if no framework has it."""
    refuses: bool = False
    """Whether the case expects an error instead of a result. A pass then says nothing about the device, so the case has
    no latency and is excluded from the counts of what works there."""
    in_place: InPlace = False
    """The arguments that the call may change. All others must have the same values after the call as before."""
    unrepeatable: str | None = None
    """Why a repeated call may return another result (for example, it changes its input); None if it may not. The case
    must also be right at a later call; if it is unrepeatable, that call is prepared again."""
    not_applicable: Callable[[Context], str | None] | None = None
    """Returns why the case cannot run here (for example, a collective needs more devices), or None if it can."""

    @property
    def seed(self) -> int:
        """The seed of the inputs. It depends on the id alone, so it is the same on every target, run and machine."""
        return seed_of(self.id)

    def may_change(self, position: int) -> bool:
        """Whether the call may change the argument at a position."""
        return self.in_place if isinstance(self.in_place, bool) else position in self.in_place

    def inputs(self) -> Inputs:
        return Inputs(np.random.default_rng(self.seed), self.seed)


@dataclass(frozen=True)
class TakenApart:
    """A result that is split into the function's own values and the values of other lines.

    The ``take_apart`` method of a case's ``prepare`` makes it, if there is such a method.
    """

    own: tuple[Case, Any, Any]
    """The function's own values: the case that judges them, the observed values, and the expected values."""
    others: tuple[Case, Any, Any]
    """The values of other lines, in the same form."""
    ended: str | None
    """The error of another line that ended the call early; None if no line did."""


def seed_of(case_id: str) -> int:
    return int.from_bytes(hashlib.sha256(case_id.encode()).digest()[:4], "big")


def just_call(context: Context, *arguments: Any, **options: Any) -> Callable[[], Any]:
    return context.compiled(partial(context.function, *arguments, **options))


@dataclass
class Function:
    """One charted function and its cases. The methods ``value``, ``statistics`` and ``behaviour`` each add one case.

    ``prepare``, ``reference``, ``in_place`` and ``unrepeatable`` are defaults for cases that do not set them.
    """

    name: str
    reference: Callable[..., Any] | None = None
    prepare: Prepare = just_call
    host_only: str | None = None
    """Why the function never touches a device. For a framework's functions, ``protocol/host_only.json`` says this."""
    in_place: InPlace = False
    unrepeatable: str | None = None
    alias_of: str | None = None
    """The framework's name for the function, if the study misspelled it. A function that was moved or removed has no
    alias: under the study's name it counts as removed."""
    given: Callable[..., Any] | None = None
    """The function itself, if no framework has it (``conformance.py``)."""
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
        """Add a case that compares every returned value with a reference.

        ``options`` are the keyword arguments of the call.
        """
        case_reference = reference or self.reference
        if case_reference is None:
            raise TypeError(f"{self.name}/{name}: a value case needs a reference; give reference= here or to Function")
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
        """Add a case about random numbers. ``check`` judges the statistics of the device's own generator."""
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
        """Add a case about another promise of the function: identity, state, or (with ``refuses``) an error."""
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
            raise TypeError(f"{identifier}: a case of this name exists already; rename one")
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
    """Return the ``FUNCTIONS`` of a module, or of a package and all its modules in the order of their names."""
    names = sorted(module.name for module in pkgutil.iter_modules(getattr(package, "__path__", [])))
    # ``__main__`` is a program: importing it would run it.
    within = [importlib.import_module(f"{package.__name__}.{name}") for name in names if name != "__main__"]
    functions: list[Function] = []
    for module in (package, *within):
        functions += getattr(module, "FUNCTIONS", [])
    strangers = [function for function in functions if not isinstance(function, Function)]
    if strangers:
        raise TypeError(
            f"FUNCTIONS contains a {type(strangers[0]).__name__}: list only objects of runners.suite.cases.Function"
        )
    return functions
