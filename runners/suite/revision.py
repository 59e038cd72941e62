"""The digest of a case, and the revision of a suite: equal as long as the same results can come out.

A case's digest is taken over everything that decides its result: its id, function, kind, dtype, options, tolerance,
``host_only``, ``in_place``, ``unrepeatable`` and tags, and the source of its inputs, ``prepare``, reference and check.
The revision of a suite is the digest of its cases' digests, so that a changed case changes the revision and no other
case's digest.

Source counts as syntax (``source.py``): comments, docstrings, annotations and layout do not. From a function the
digest follows names to whatever ``runners`` or the suite's own package defines (functions, classes, constants, data
files beside the module that a definition names), and closures, defaults and options to their values. It ends at NumPy,
SciPy, the framework and Python: their objects count by name, so that a suite has one revision over all their versions.
The drawing and rounding of inputs and the judgement of results, and of inputs after the calls, count for every case;
the isolation, the clock and the device's own module do not.
"""

from __future__ import annotations

import enum
import hashlib
import importlib.util
import inspect
import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import fields
from functools import partial
from pathlib import Path
from types import BuiltinFunctionType, CellType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from runners.suite.cases import Case, Function, Inputs, seed_of
from runners.suite.checks import compare
from runners.suite.judgement import judge, judge_inputs, judge_later
from runners.suite.rounding import rounded
from runners.suite.source import SourceModule, children, free_names, syntax_text

LENGTH = 12
"""Hexadecimal digits of a digest: 48 bits, so that two of a million cases agree by chance once in 500 suites."""
_SHARED = (Inputs, seed_of, rounded, compare, judge, judge_later, judge_inputs)
"""The class and the functions that make the inputs and judge the results of every case."""
_DATA_FILE = re.compile(r"\w[\w-]*\.(?!py\b)\w+")
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


class SuiteRevision(NamedTuple):
    revision: str
    cases: Mapping[str, str]
    """The digest of each case by its id."""


def revision_of(functions: Sequence[Function], package: str) -> SuiteRevision:
    """The revision of a suite whose cases stand in ``package``, and the digest of each of its cases."""
    reader = _SuiteReader(frozenset({__name__.partition(".")[0], package.partition(".")[0]}))
    cases = {case.id: reader.digest(case) for function in functions for case in function.cases}
    return SuiteRevision(_digest_of(sorted(cases.items())), cases)


def _digest_of(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, separators=(",", ":")).encode()).hexdigest()[:LENGTH]


class _Cell(NamedTuple):
    """A variable of a closure."""

    name: str
    cell: CellType


class _Definition(NamedTuple):
    """A name of a module: a digest of the statements that bind it, and the definitions that they use."""

    digest: str
    uses: frozenset[tuple[str, str]]


class _SuiteReader:
    """Reads each source file of a suite once. ``packages`` are those whose source belongs to the suite."""

    def __init__(self, packages: frozenset[str]) -> None:
        self._packages = packages
        self._modules: dict[str, SourceModule] = {}
        self._definitions: dict[tuple[str, str], _Definition] = {}
        self._trees: dict[Any, tuple[str, frozenset[tuple[str, str]]]] = {}
        self._reached: dict[tuple[str, str], frozenset[str]] = {}
        self._shared = _ValueReader(self)
        self._shared_digest = _digest_of([self._shared.read(member) for member in _SHARED])

    def digest(self, case: Case) -> str:
        values = _ValueReader(self)
        content = [[field.name, values.read(getattr(case, field.name))] for field in fields(case)]
        used_keys = values.definitions | self._shared.definitions
        return _digest_of([content, self._shared_digest, sorted(frozenset().union(*map(self._closure, used_keys)))])

    def owns(self, module: str | None) -> bool:
        return module is not None and module.partition(".")[0] in self._packages

    def function(self, function: FunctionType) -> tuple[str, frozenset[tuple[str, str]]]:
        """The digest of a function's own syntax, and the definitions that it names."""
        code = function.__code__
        if code not in self._trees:
            module = self._module(function.__module__, code.co_filename, function.__globals__)
            node = module.function(function)
            names = {
                name for name in free_names(node, defaults=False) if name.partition(".")[0] not in code.co_freevars
            }
            self._trees[code] = (
                _digest_of([syntax_text(node), self._data(module, [node])]),
                self._resolve_all(module, names),
            )
        return self._trees[code]

    def class_(self, of: type) -> frozenset[tuple[str, str]]:
        """The definition of a class, also of one that stands within a function."""
        module = self._module(of.__module__)
        key = (of.__module__, of.__name__)
        if key not in self._definitions and of.__name__ not in module.bindings:
            self._define(key, module, module.classes.get(of.__name__, []))
        return frozenset({key})

    def _closure(self, root: tuple[str, str]) -> frozenset[str]:
        """The digests of a definition and of everything that it leads to."""
        if root not in self._reached:
            visits = {root}
            pending = [root]
            while pending:
                for key in self._definition(pending.pop()).uses - visits:
                    visits.add(key)
                    pending.append(key)
            self._reached[root] = frozenset(self._definition(key).digest for key in visits)
        return self._reached[root]

    def _definition(self, key: tuple[str, str]) -> _Definition:
        if key not in self._definitions:
            module = self._module(key[0])
            self._define(key, module, module.bindings.get(key[1], []))
        return self._definitions[key]

    def _define(self, key: tuple[str, str], module: SourceModule, nodes: Sequence[Any]) -> None:
        names = frozenset().union(*map(free_names, nodes))
        content = [key[1], [syntax_text(node) for node in nodes], self._data(module, nodes)]
        self._definitions[key] = _Definition(_digest_of(content), self._resolve_all(module, names))

    def _resolve_all(self, module: SourceModule, names: Iterable[str]) -> frozenset[tuple[str, str]]:
        return frozenset(key for name in names for key in self._resolve(module, name))

    def _resolve(self, module: SourceModule, path: str) -> Iterable[tuple[str, str]]:
        """The definitions behind a name: those of our own modules where it is imported from one."""
        name, *attributes = path.split(".")
        for node in module.bindings.get(name, ()):
            target = _import(node, name, module)
            if target is None:
                yield module.name, name
            elif self.owns(target):
                yield from self._resolve_import(target, attributes)

    def _resolve_import(self, target: str, attributes: Sequence[str]) -> Iterable[tuple[str, str]]:
        """``package.module.name`` and further attributes, of which the first after the module is a definition."""
        path = [*target.split("."), *attributes]
        for length in range(len(path) - 1, 0, -1):
            name = ".".join(path[:length])
            if _is_module(name):
                return self._resolve(self._module(name), ".".join(path[length:]))
        return ()

    def _module(self, name: str, path: str | None = None, namespace: dict[str, Any] | None = None) -> SourceModule:
        if name not in self._modules:
            if path is None:
                loaded_module = sys.modules.get(name)
                path = getattr(loaded_module, "__file__", None)
                namespace = vars(loaded_module) if loaded_module else None
            if path is None:
                spec = importlib.util.find_spec(name)
                path = (spec.origin if spec else None) or name
            self._modules[name] = SourceModule(name, path, namespace)
        return self._modules[name]

    def _data(self, module: SourceModule, nodes: Iterable[Any]) -> list[str]:
        """The content of the data files beside the module that its source names; of JSON without its layout."""
        folder = Path(module.path).parent
        return [_content(folder / name) for name in sorted(_file_names(nodes)) if (folder / name).is_file()]


class _ValueReader:
    """Turns values that decide a result into plain lists, and gathers the definitions that they lead to."""

    def __init__(self, suite: _SuiteReader) -> None:
        self._suite = suite
        self._open: list[int] = []
        self.definitions: set[tuple[str, str]] = set()

    def read(self, value: Any) -> Any:
        if value is None or (isinstance(value, (bool, str)) and not isinstance(value, enum.Enum)):
            return value
        if isinstance(value, (int, float, complex)) and not isinstance(value, enum.Enum):
            return [type(value).__name__, _number(value)]
        # A value that leads to itself, such as a function that calls itself by its closure.
        if id(value) in self._open:
            return ["opened", len(self._open) - self._open.index(id(value))]
        self._open.append(id(value))
        try:
            return self._read(value)
        finally:
            self._open.pop()

    def _read(self, value: Any) -> Any:
        if isinstance(value, (np.ndarray, np.generic)):
            return ["array", str(value.dtype), list(value.shape), self._elements(np.asarray(value))]
        if isinstance(value, enum.Enum):
            return ["enum", type(value).__name__, value.name]
        if isinstance(value, partial):
            return ["partial", *map(self.read, (value.func, value.args, value.keywords))]
        if isinstance(value, MethodType):
            return ["method", self.read(value.__self__), self.read(value.__func__)]
        if isinstance(value, Mapping):
            return ["mapping", sorted(([self.read(key), self.read(value[key])] for key in value), key=repr)]
        if isinstance(value, Set):
            return ["set", sorted(map(self.read, value), key=repr)]
        if isinstance(value, (list, tuple)):
            return [type(value).__name__, list(map(self.read, value))]
        inner = inspect.unwrap(value) if callable(value) else value
        if isinstance(inner, FunctionType) and self._suite.owns(inner.__module__):
            return self._function(inner)
        if isinstance(value, type) and self._suite.owns(value.__module__):
            self.definitions |= self._suite.class_(value)
            return ["class", value.__name__]
        if isinstance(value, (type, ModuleType, FunctionType, BuiltinFunctionType)) or _is_named(value):
            return ["named", value.__name__.rpartition(".")[2]]
        if self._suite.owns(type(value).__module__):
            self.definitions |= self._suite.class_(type(value))
            return ["instance", type(value).__name__, self.read(_members(value))]
        return ["other", type(value).__name__, _ADDRESS.sub("", repr(value))]

    def _function(self, function: FunctionType) -> Any:
        digest, names = self._suite.function(function)
        self.definitions |= names
        cells = list(map(_Cell, function.__code__.co_freevars, function.__closure__ or ()))
        return [
            "function",
            digest,
            [[cell.name, self.read(cell.cell.cell_contents)] for cell in cells if _is_filled(cell.cell)],
            self.read(function.__defaults__),
            self.read(function.__kwdefaults__),
        ]

    def _elements(self, array: np.ndarray[Any, Any]) -> Any:
        if array.dtype.kind in "fc":
            return hashlib.sha256(" ".join(map(_number, array.ravel().tolist())).encode()).hexdigest()
        if array.dtype.kind == "O":
            return self.read(array.tolist())
        return hashlib.sha256(array.tobytes()).hexdigest()


def _number(value: complex) -> str:
    """Twelve digits of a float: the last ones can differ from machine to machine where it was computed."""
    if isinstance(value, complex):
        return f"{value.real:.12g} {value.imag:.12g}"
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def _members(value: Any) -> Mapping[str, Any]:
    members = dict(getattr(value, "__dict__", {}))
    members.update((name, getattr(value, name)) for name in getattr(value, "__slots__", ()) if hasattr(value, name))
    # A case that holds its function does not hold the function's other cases.
    return {name: member for name, member in members.items() if not (isinstance(value, Function) and name == "cases")}


def _is_named(value: Any) -> bool:
    """Whether it is a function of another library, which may be of any type."""
    return callable(value) and isinstance(getattr(value, "__name__", None), str)


def _is_filled(cell: CellType) -> bool:
    try:
        return bool(cell.cell_contents is not cell)
    except ValueError:
        return False


def _is_module(name: str) -> bool:
    try:
        return name in sys.modules or importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def _import(node: Any, name: str, module: SourceModule) -> str | None:
    """The full name that an import binds to ``name``, or None of another statement."""
    for alias in getattr(node, "names", ()):
        if not hasattr(alias, "asname") or name != (alias.asname or alias.name.partition(".")[0]):
            continue
        if not hasattr(node, "level"):
            return str(alias.name if alias.asname else name)
        package = module.name if Path(module.path).stem == "__init__" else module.name.rpartition(".")[0]
        base = ".".join(package.split(".")[: len(package.split(".")) - node.level + 1]) if node.level else ""
        return ".".join(filter(None, (base, node.module, alias.name)))
    return None


def _file_names(nodes: Iterable[Any]) -> set[str]:
    names: set[str] = set()
    pending = list(nodes)
    while pending:
        node = pending.pop()
        pending.extend(children(node))
        text = getattr(node, "value", None)
        if isinstance(text, str) and len(text) < 100 and _DATA_FILE.fullmatch(text):
            names.add(text)
    return names


def _content(path: Path) -> str:
    content = path.read_bytes()
    if path.suffix == ".json":
        content = json.dumps(json.loads(content), sort_keys=True).encode()
    return hashlib.sha256(content).hexdigest()
