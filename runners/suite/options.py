"""Options: how a case calls its function, as data beside it: arrays and their dtypes, arguments, keywords.

They are told from the case alone: nothing is called but what makes its inputs, and no device is needed. They decide no
result, so they are no part of a revision: what reads them here may change and the suite stays the same.

Only a case's ``prepare`` knows what it makes of its arguments. Where that is its author's own, the calls are those that
a developer recorded on the host (``runners/calls_by_hand.py``) and put beside the suite (``suites.py``); of a case
that is not there they are unknown.

A value is written as JSON has it; an array by its dtype and shape, and anything else as an object of one of the keys
below.
"""

from __future__ import annotations

import ast
import builtins
import json
import math
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from protocol.option_limits import MAX_CALLS, MAX_DTYPES, MAX_KEYWORD, MAX_KEYWORDS, MAX_VALUE
from runners.suite.cases import Case, just_call
from runners.suite.examples import Example
from runners.suite.frozen import FrozenArguments, Named, Slot, decode, pack_of
from runners.suite.frozen_example import FrozenExample
from runners.suite.recording.reading import RecordedArguments
from runners.suite.rounding import dtype_on_device

ARRAY = "array"
"""``{"array": "float32", "shape": [3, 4]}``."""
OBJECT = "object"
"""Any other object by its public name, or by that of its type: ``{"object": "torch.float32"}``."""
EXPRESSION = "expression"
"""An argument of an example that is no literal, as its text has it: ``{"expression": "x.shape[0]"}``."""
SHORTENED = "shortened"
"""The beginning of a value that is too long: ``{"shortened": "[1, 2, 3"}``."""
RESULT = "result"
"""An argument that another function returned: ``{"object": "result"}``."""
_OTHER_PACKAGES = frozenset({"np", "numpy", "math", "random", "itertools", "functools"})
"""Roots of names in examples that are no framework's."""


@dataclass(frozen=True)
class _Array:
    """An array of a call as the device has it."""

    dtype: str
    shape: tuple[int, ...]


@dataclass(frozen=True)
class _Call:
    """One call of the function: its arguments as they are, of a method after the receiver."""

    arguments: Sequence[Any]
    keywords: Mapping[str, Any]
    receiver: _Array | None = None


def options_of(case: Case, options_by_hand: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The options of a case as a ``protocol.catalogue.CaseOptions`` is read; what is at its default is left out.

    ``recorded`` are those of a case whose calls only its author's code knows.
    """
    dtypes: set[str] = set()
    calls = _calls(case, dtypes)
    options: dict[str, Any] = {"kind": case.kind}
    if not isinstance(case.prepare, FrozenExample):
        options["dtypes"] = sorted(dtypes or {case.dtype})
    return options | (_written_calls(calls) if calls is not None else dict(options_by_hand or {}))


@dataclass(frozen=True)
class SeenCall:
    """A call that a case was seen to make, with the values that it gave."""

    arguments: Sequence[Any]
    keywords: Mapping[str, Any]
    is_of_first: bool
    """Whether it is a method's, and its first argument the object whose method that is."""


def recorded_options(case: Case, seen_calls: Iterable[SeenCall]) -> dict[str, Any]:
    """The options of the calls that a case was seen to make. Of several that are written alike one is kept."""
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
    """The tree with each array of a framework's or NumPy's in its place."""
    dtype, shape = getattr(tree, "dtype", None), getattr(tree, "shape", None)
    if dtype is not None and shape is not None and not isinstance(tree, type):
        name = getattr(dtype, "name", None) or str(dtype).rpartition(".")[2]
        # A graph does not know every shape.
        return _Array(name, () if getattr(shape, "rank", 0) is None else tuple(shape))
    if isinstance(tree, Mapping):
        return {str(key): _as_seen(value) for key, value in tree.items()}
    if isinstance(tree, (list, tuple)):
        return [_as_seen(member) for member in tree]
    # A place of this machine is no option.
    return Named("str", "") if isinstance(tree, str) and tempfile.gettempdir() in tree else tree


def is_member(function: str) -> bool:
    """Whether a dotted name is that of a class's member, by the capital of its class."""
    return function.split(".")[-2:][0][:1].isupper() and "." in function


def _calls(case: Case, dtypes: set[str]) -> list[_Call] | None:
    """The calls that a case makes of its function, None where only its author knows; adds the dtypes of its arrays."""
    if isinstance(case.prepare, FrozenExample):
        return list(example_calls(Example.read(case.prepare.example), case.function))
    text = getattr(case.prepare, "written", None)
    is_frozen = isinstance(case.arguments, (FrozenArguments, RecordedArguments)) and isinstance(text, str)
    if not is_frozen and case.prepare is not just_call:
        return None
    try:
        arrays = _arguments(case)
    except Exception:
        # A mistake of an author's in making inputs is the case's own failure, not the catalogue's.
        return None
    if is_frozen:
        parts = decode(json.loads(str(text)), lambda slot: _in_slot(arrays, slot, case.dtype))
    else:
        parts = _on_device([list(arrays), dict(case.options)], case.dtype)
    dtypes.update(array.dtype for array in _arrays_in(parts))
    return [_call(case.function, parts[0], parts[1])]


def _arguments(case: Case) -> Sequence[Any]:
    if isinstance(case.arguments, RecordedArguments):
        # They are as large as those of the program that was recorded.
        return [np.broadcast_to(np.zeros((), array.numpy_dtype), array.shape) for array in case.arguments.arrays]
    if isinstance(case.arguments, FrozenArguments):
        # They are drawn from no generator, and making one for each case would take as long as all the rest.
        pack = pack_of(case.arguments.package)
        return [pack.array(digest) for digest in case.arguments.digests]
    return case.arguments(case.inputs())


def _call(function: str, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> _Call:
    if is_member(function) and arguments and isinstance(arguments[0], _Array):
        return _Call(arguments[1:], keywords, arguments[0])
    return _Call(arguments, keywords)


def _in_slot(arrays: Sequence[np.ndarray[Any, Any]], slot: Slot, dtype: str) -> Any:
    if slot.number == len(arrays):
        # The result of the call before it (``pairs.py``).
        return Named(RESULT, "")
    array = arrays[slot.number]
    return _Array(slot.dtype or _dtype(array, dtype), array.shape)


def _dtype(array: np.ndarray[Any, Any], dtype: str) -> str:
    """As the device has it: texts of whatever length are strings there."""
    return "string" if array.dtype.kind in "SU" else dtype_on_device(array, dtype)


def _on_device(tree: Any, dtype: str) -> Any:
    """The tree with each array as the device has it."""
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
    """A call in JSON's own types, and whether something of it was left out or shortened."""
    keywords = {
        name[:MAX_KEYWORD]: _shorten(_to_json(value)) for name, value in list(call.keywords.items())[:MAX_KEYWORDS]
    }
    record: dict[str, Any] = {"positional": len(call.arguments)}
    if keywords:
        record["keywords"] = keywords
    if call.receiver is not None:
        record["receiver"] = _to_json(call.receiver)
    is_cut = any(isinstance(value, dict) and SHORTENED in value for value in keywords.values())
    return record, is_cut or len(call.keywords) > MAX_KEYWORDS


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
    """The public name of an object, such as ``torch.float32``, or that of its type."""
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
    # What no database can hold: NUL and halves of pairs.
    if "\\u0000" in text or "\\ud" in text:
        return {OBJECT: type(value).__name__}
    shortened_value, length = value, MAX_VALUE
    # A quotation mark of the text takes two characters in the JSON around it.
    while len(json.dumps(shortened_value)) > MAX_VALUE:
        length -= 10
        shortened_value = {SHORTENED: text[:length]}
    return shortened_value


def example_calls(example: Example, function: str) -> Iterator[_Call]:
    """The calls of a function in the statements of an example, told by its name; one with ``*`` or ``**`` is left out.

    A member is whatever has its name after a dot. A function of a module is named by modules alone, none of which the
    example binds otherwise than by an import: ``x.sum()`` is no call of ``torch.sum``.
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
    """The names of ``a.b.c``; what stands before the first dot is an empty name where it is no name itself."""
    if isinstance(node, ast.Name):
        return [node.id]
    if isinstance(node, ast.Attribute):
        return [*(_path(node.value) or [""]), node.attr]
    return None


def _bound_otherwise(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """The names that statements bind anywhere, but for imports."""
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
