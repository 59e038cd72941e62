"""Describes how a case calls its function, as data: the dtypes of arrays, the arguments and the keywords.

The options are derived from the case alone. Only the code that makes its inputs is called, and no device is needed. No
result depends on them, so they are not part of a revision: this module may change without changing a suite.

How a case calls its function is decided by its ``prepare``. If an author wrote that by hand, the calls cannot be
derived. Then the options are those that a developer recorded on the host (``runners/calls_by_hand.py``) and stored
beside the suite (``suites.py``). For a case without such a record, they are unknown.

Values are written as JSON. An array is written as its dtype and shape, any other object with one of the keys below.
"""

from __future__ import annotations

import ast
import builtins
import itertools
import json
import math
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from protocol.option_limits import MAX_ARGUMENTS, MAX_CALLS, MAX_DTYPES, MAX_KEYWORD, MAX_KEYWORDS, MAX_VALUE
from runners.suite.cases import Case, just_call
from runners.suite.examples import Example
from runners.suite.frozen import FrozenArguments, Named, Slot, decode, pack_of
from runners.suite.frozen_example import FrozenExample
from runners.suite.recording.reading import RecordedArguments
from runners.suite.rounding import dtype_on_device

ARRAY = "array"
"""``{"array": "float32", "shape": [3, 4]}``."""
OBJECT = "object"
"""Any other object, by its public name or the name of its type: ``{"object": "torch.float32"}``."""
EXPRESSION = "expression"
"""The source of an argument in an example that is not a literal: ``{"expression": "x.shape[0]"}``."""
SHORTENED = "shortened"
"""The beginning of a value that is too long: ``{"shortened": "[1, 2, 3"}``."""
RESULT = "result"
"""An argument that is the result of another function: ``{"object": "result"}``."""
_OTHER_PACKAGES = frozenset({"np", "numpy", "math", "random", "itertools", "functools"})
"""First parts of dotted names in examples that do not belong to a framework."""


@dataclass(frozen=True)
class _Array:
    """An array in a call, with its dtype on the device."""

    dtype: str
    shape: tuple[int, ...]


@dataclass(frozen=True)
class _Call:
    """One call of the function. For a method, ``arguments`` come after the receiver."""

    arguments: Sequence[Any]
    keywords: Mapping[str, Any]
    receiver: _Array | None = None


def options_of(case: Case, options_by_hand: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the options of a case in the JSON form of ``protocol.catalogue.CaseOptions``, without default values.

    ``options_by_hand`` are recorded options, for a case whose calls cannot be derived.
    """
    dtypes: set[str] = set()
    calls = _calls(case, dtypes)
    options: dict[str, Any] = {"kind": case.kind}
    if not isinstance(case.prepare, FrozenExample):
        options["dtypes"] = sorted(dtypes or {case.dtype})
    return options | (_written_calls(calls) if calls is not None else dict(options_by_hand or {}))


@dataclass(frozen=True)
class SeenCall:
    """A call that was observed while a case ran, with its arguments."""

    arguments: Sequence[Any]
    keywords: Mapping[str, Any]
    is_of_first: bool
    """Whether the call is a method call, with the receiver as the first argument."""


def recorded_options(case: Case, seen_calls: Iterable[SeenCall]) -> dict[str, Any]:
    """Return the options of a case from observed calls. Calls that are written alike are kept once."""
    calls = list(map(_read_call, seen_calls))
    arrays = _arrays_in([[call.receiver, list(call.arguments), dict(call.keywords)] for call in calls])
    different = {json.dumps(_written_call(call)): call for call in calls}
    dtypes = sorted({array.dtype for array in arrays} or {case.dtype})
    return {"dtypes": dtypes[:MAX_DTYPES], **_written_calls(list(different.values()))}


def _read_call(call: SeenCall) -> _Call:
    arguments, keywords = _as_seen([list(call.arguments), dict(call.keywords)])
    if not call.is_of_first:
        return _Call(arguments, keywords)
    receiver, *arguments = arguments
    return _Call(arguments, keywords, receiver if isinstance(receiver, _Array) else None)


def _written_calls(calls: Sequence[_Call]) -> dict[str, Any]:
    texts = [_written_call(call) for call in calls[:MAX_CALLS]]
    options: dict[str, Any] = {"calls": [call for call, _ in texts]}
    if len(calls) > MAX_CALLS or any(is_shortened for _, is_shortened in texts):
        options["shortened"] = True
    return options


def _as_seen(tree: Any) -> Any:
    """Replace each array of a framework or of NumPy in a tree with its dtype and shape."""
    dtype, shape = getattr(tree, "dtype", None), getattr(tree, "shape", None)
    if dtype is not None and shape is not None and not isinstance(tree, type):
        name = getattr(dtype, "name", None) or str(dtype).rpartition(".")[2]
        # In a graph, a shape may be unknown.
        return _Array(name, () if getattr(shape, "rank", 0) is None else tuple(shape))
    if isinstance(tree, Mapping):
        return {str(key): _as_seen(value) for key, value in tree.items()}
    if isinstance(tree, (list, tuple)):
        return [_as_seen(member) for member in tree]
    # A path of this machine must not become part of the options.
    return Named("str", "") if isinstance(tree, str) and tempfile.gettempdir() in tree else tree


def is_member(function: str) -> bool:
    """Whether a dotted name is a member of a class: the part before the last begins with a capital."""
    return function.split(".")[-2:][0][:1].isupper() and "." in function


def _calls(case: Case, dtypes: set[str]) -> list[_Call] | None:
    """Return the calls that a case makes of its function, or None if they cannot be derived.

    Adds the dtypes of the arrays to ``dtypes``.
    """
    if isinstance(case.prepare, FrozenExample):
        return list(example_calls(Example.read(case.prepare.example), case.function))
    text = getattr(case.prepare, "written", None)
    is_frozen = isinstance(case.arguments, (FrozenArguments, RecordedArguments)) and isinstance(text, str)
    if not is_frozen and case.prepare is not just_call:
        return None
    try:
        arrays = _arguments(case)
    except Exception:
        # If the author's code for inputs fails, the case must fail when it runs, and not the whole catalogue.
        return None
    if is_frozen:
        parts = decode(json.loads(str(text)), lambda slot: _in_slot(arrays, slot, case.dtype))
    else:
        parts = _on_device([list(arrays), dict(case.options)], case.dtype)
    dtypes.update(array.dtype for array in _arrays_in(parts))
    return [_call(case.function, parts[0], parts[1])]


def _arguments(case: Case) -> Sequence[Any]:
    if isinstance(case.arguments, RecordedArguments):
        # Not made in full: they are as large as the arrays of the recorded program.
        return [np.broadcast_to(np.zeros((), array.numpy_dtype), array.shape) for array in case.arguments.arrays]
    if isinstance(case.arguments, FrozenArguments):
        # Read directly: creating an unused random generator for each case would double the time of the catalogue.
        pack = pack_of(case.arguments.package)
        return [pack.array(digest) for digest in case.arguments.digests]
    return case.arguments(case.inputs())


def _call(function: str, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> _Call:
    if is_member(function) and arguments and isinstance(arguments[0], _Array):
        return _Call(arguments[1:], keywords, arguments[0])
    return _Call(arguments, keywords)


def _in_slot(arrays: Sequence[np.ndarray[Any, Any]], slot: Slot, dtype: str) -> Any:
    if slot.number == len(arrays):
        # The slot stands for the result of the first call of a pair (``pairs.py``).
        return Named(RESULT, "")
    array = arrays[slot.number]
    return _Array(slot.dtype or _dtype(array, dtype), array.shape)


def _dtype(array: np.ndarray[Any, Any], dtype: str) -> str:
    """Return the dtype of an array on the device. NumPy's texts of any length become strings there."""
    return "string" if array.dtype.kind in "SU" else dtype_on_device(array, dtype)


def _on_device(tree: Any, dtype: str) -> Any:
    """Replace each array in a tree with its dtype on the device and its shape."""
    if isinstance(tree, (np.ndarray, np.generic)):
        array = np.asarray(tree)
        return _Array(_dtype(array, dtype), array.shape)
    if isinstance(tree, Mapping):
        return {key: _on_device(value, dtype) for key, value in tree.items()}
    if type(tree) in (list, tuple):
        return [_on_device(member, dtype) for member in tree]
    return tree


def _arrays_in(tree: Any) -> Iterator[_Array]:
    if isinstance(tree, _Array):
        yield tree
    elif isinstance(tree, Mapping):
        yield from _arrays_in(list(tree.values()))
    elif isinstance(tree, (list, tuple)):
        for member in tree:
            yield from _arrays_in(member)


def _written_call(call: _Call) -> tuple[dict[str, Any], bool]:
    """Convert a call to JSON types. Also returns whether something was left out or shortened."""
    keywords = {
        name[:MAX_KEYWORD]: _shorten(_to_json(value)) for name, value in list(call.keywords.items())[:MAX_KEYWORDS]
    }
    record: dict[str, Any] = {"positional": len(call.arguments)}
    if arguments := _plain_arguments(call.arguments):
        record["arguments"] = arguments
    if keywords:
        record["keywords"] = keywords
    if call.receiver is not None:
        record["receiver"] = _to_json(call.receiver)
    is_cut = any(isinstance(value, dict) and SHORTENED in value for value in keywords.values())
    return record, is_cut or len(call.keywords) > MAX_KEYWORDS


def _plain_arguments(arguments: Sequence[Any]) -> dict[str, Any]:
    """Return the plain values among positional arguments by number, from 1. Long values are left out."""
    values = ((str(number), _to_json(argument)) for number, argument in enumerate(arguments, 1))
    short_values = ((number, value) for number, value in values if _is_plain(value) and _shorten(value) == value)
    return dict(itertools.islice(short_values, MAX_ARGUMENTS))


def _is_plain(value: Any) -> bool:
    return all(map(_is_plain, value)) if isinstance(value, list) else not isinstance(value, dict)


def _to_json(value: Any) -> Any:
    if value is None or isinstance(value, (bool, str)) or type(value) is int:
        return value
    if type(value) is float and math.isfinite(value):
        return value
    if isinstance(value, _Array):
        return {ARRAY: value.dtype, "shape": list(value.shape)}
    if isinstance(value, ast.expr):
        return _literal(value)
    if isinstance(value, (list, tuple)):
        return [_to_json(member) for member in value]
    if isinstance(value, Mapping):
        return {"mapping": [[_to_json(key), _to_json(member)] for key, member in value.items()]}
    return {OBJECT: _name(value)}


def _name(value: Any) -> str:
    """Return the public name of an object, such as ``torch.float32``, or the name of its type."""
    if isinstance(value, Named):
        return value.name or value.kind
    if isinstance(value, (float, complex, np.dtype)):
        return str(value)
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
    if callable(value) and isinstance(name, str):
        words = ".".join(filter(None, (getattr(value, "__module__", None), name)))
    else:
        words = repr(value)
    return words if words.replace(".", "").isidentifier() else type(value).__name__


def _literal(node: ast.expr) -> Any:
    try:
        return _to_json(ast.literal_eval(node))
    except (ValueError, TypeError, MemoryError, RecursionError):
        return {EXPRESSION: ast.unparse(node)}


def _shorten(value: Any) -> Any:
    text = json.dumps(value)
    # PostgreSQL cannot store NUL and lone surrogates.
    if "\\u0000" in text or "\\ud" in text:
        return {OBJECT: type(value).__name__}
    shortened_value, length = value, MAX_VALUE
    # In the loop, because a quotation mark in the text takes two characters in JSON.
    while len(json.dumps(shortened_value)) > MAX_VALUE:
        length -= 10
        shortened_value = {SHORTENED: text[:length]}
    return shortened_value


def example_calls(example: Example, function: str) -> Iterator[_Call]:
    """Find the calls of a function in an example by its name. Calls with ``*`` or ``**`` are left out.

    For a method, every call of this name after a dot counts. For a function of a module, the names before it must be
    modules, that is, the example must not bind them except by an import: ``x.sum()`` is not a call of ``torch.sum``.
    """
    nodes = [node for statement in example.statements for node in ast.walk(ast.parse(statement.source))]
    own_names = frozenset(_bound_otherwise(nodes))
    imported_names = frozenset(_imported_names(nodes))
    name = function.rpartition(".")[2]
    for node in nodes:
        if not isinstance(node, ast.Call) or _is_spread(node):
            continue
        path = _path(node.func)
        if path is None or path[-1] != name:
            continue
        if (is_member(function) and len(path) > 1) or _is_of_module(path, own_names, imported_names):
            yield _Call(node.args, {str(keyword.arg): keyword.value for keyword in node.keywords})


def _is_of_module(path: Sequence[str], own_names: frozenset[str], imported_names: frozenset[str]) -> bool:
    root = path[0]
    if root in own_names or root in _OTHER_PACKAGES or not root:
        return False
    return len(path) > 1 or root in imported_names or not hasattr(builtins, root)


def _is_spread(node: ast.Call) -> bool:
    return any(isinstance(argument, ast.Starred) for argument in node.args) or any(
        keyword.arg is None for keyword in node.keywords
    )


def _path(node: ast.expr) -> list[str] | None:
    """Return the names of ``a.b.c``. If the first part is not a name but an expression, it becomes an empty name."""
    if isinstance(node, ast.Name):
        return [node.id]
    if isinstance(node, ast.Attribute):
        return [*(_path(node.value) or [""]), node.attr]
    return None


def _bound_otherwise(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Yield the names that statements bind, except by imports."""
    for node in nodes:
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name


def _imported_names(nodes: Iterable[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                yield alias.asname or alias.name.partition(".")[0]
