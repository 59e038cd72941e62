"""Computes the digest of a case and the revision of a suite. Both change only with code or data that decides a result.

A case's digest covers everything that decides its result: its id, function, kind, dtype, options, tolerance,
``host_only``, ``in_place``, ``unrepeatable`` and tags, and the source of its inputs, ``prepare``, reference and check.
The revision of a suite is the digest of its cases' digests. So a changed case changes the revision, but not the digest
of any other case.

Of the source, only the syntax counts (``source.py``): comments, docstrings, annotations and layout do not. Starting
from a function, the digest follows names to everything that ``runners`` or the suite's own package defines (functions,
classes, constants, and data files beside the module that a definition names). It follows closures, defaults and options
to their values. It stops at NumPy, SciPy, the framework and Python: of their objects only the names count, so that a
suite has the same revision with all their versions. Code that draws and rounds inputs, judges results, or checks the
inputs after the calls counts for every case. The isolation, the clock and the device's own module do not count.
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
"""Hexadecimal digits of a digest, that is, 48 bits. Among a million cases, two have the same digest by chance in one of
500 suites."""
_SHARED = (Inputs, seed_of, rounded, compare, judge, judge_later, judge_inputs)
"""The class and the functions that make the inputs and judge the results of every case."""
_DATA_FILE = re.compile(r"\w[\w-]*\.(?!py\b)\w+")
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


class SuiteRevision(NamedTuple):
    revision: str
    cases: Mapping[str, str]
    """The digest of each case by its id."""


def revision_of(functions: Sequence[Function], package: str) -> SuiteRevision:
    """Compute the revision of a suite whose cases are in ``package``, and the digest of each case."""
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
    """A definition in a module: the digest of the statements that bind the name, and the definitions that they use."""

    digest: str
    uses: frozenset[tuple[str, str]]


class _SuiteReader:
    """Reads each source file of a suite once. ``packages`` are the packages whose source belongs to the suite."""

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
        """Return the digest of a function's own syntax, and the definitions that it names."""
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
        """Return the definition of a class, even if a function defines the class."""
        module = self._module(of.__module__)
        key = (of.__module__, of.__name__)
        if key not in self._definitions and of.__name__ not in module.bindings:
            self._define(key, module, module.classes.get(of.__name__, []))
        return frozenset({key})

    def _closure(self, root: tuple[str, str]) -> frozenset[str]:
        """Return the digests of a definition and of everything that it uses, directly or indirectly."""
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
        """Yield the definitions of a name. An imported name leads to its module, if that belongs to the suite."""
        name, *attributes = path.split(".")
        for node in module.bindings.get(name, ()):
            target = _import(node, name, module)
            if target is None:
                yield module.name, name
            elif self.owns(target):
                yield from self._resolve_import(target, attributes)

    def _resolve_import(self, target: str, attributes: Sequence[str]) -> Iterable[tuple[str, str]]:
        """Find the definition in ``package.module.name.attribute``: the first name after the module."""
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
        """Return digests of the data files beside the module that its source names. The layout of JSON is ignored."""
        folder = Path(module.path).parent
        return [_content(folder / name) for name in sorted(_file_names(nodes)) if (folder / name).is_file()]


class _ValueReader:
    """Converts values that decide a result to plain lists, and collects the definitions that they use."""

    def __init__(self, suite: _SuiteReader) -> None:
        self._suite = suite
        self._open: list[int] = []
        self.definitions: set[tuple[str, str]] = set()

    def read(self, value: Any) -> Any:
        if value is None or (isinstance(value, (bool, str)) and not isinstance(value, enum.Enum)):
            return value
        if isinstance(value, (int, float, complex)) and not isinstance(value, enum.Enum):
            return [type(value).__name__, _number(value)]
        # A value that contains itself, such as a function that calls itself through its closure.
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
    """Write twelve digits of a float. If it was computed, its last digits can differ between machines."""
    if isinstance(value, complex):
        return f"{value.real:.12g} {value.imag:.12g}"
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def _members(value: Any) -> Mapping[str, Any]:
    members = dict(getattr(value, "__dict__", {}))
    members.update((name, getattr(value, name)) for name in getattr(value, "__slots__", ()) if hasattr(value, name))
    # A case may hold its function. The function's other cases must not change the digest of this case.
    return {name: member for name, member in members.items() if not (isinstance(value, Function) and name == "cases")}


def _is_named(value: Any) -> bool:
    """Whether a value is a function of another library. Such a function may be of any type."""
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
    """Return the full name that an import binds to ``name``, or None if the statement is not such an import."""
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
