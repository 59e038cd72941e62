"""Values of Python's own functions and modules, and of names that a file imports. This module does no I/O."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Mapping

from coordinator.assess.values import Symbol
from coordinator.catalogue.usage.resolver import OTHER, Binding, Value

_FOREIGN = sys.stdlib_module_names | {"numpy", "scipy", "pandas", "PIL", "cv2", "matplotlib", "pytest", "tqdm"}
"""Packages of other authors whose members never come from a framework."""
SAME_ELEMENTS = frozenset({"list", "tuple", "reversed", "sorted", "set", "iter", "deepcopy"})
_UNKNOWN_RESULTS = frozenset({"max", "min", "next", "map", "filter", "vars", "object", "property"})
MADE_AT_RUN_TIME = frozenset({"getattr", "eval", "exec", "__import__"})
"""Functions that take a text, which is a name or code, and use it at run time."""
_OTHER_BUILTINS = frozenset({"super", "abs", "sum", "zip", "enumerate", "staticmethod"})
KIND_QUESTIONS = frozenset({"isinstance", "issubclass", "hasattr", "callable", "type", "id", "repr", "str", "print"})


class Builtin(Value):
    """A Python function whose result type depends on its arguments."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


BUILTINS: Mapping[str, Binding] = {
    **dict.fromkeys(dir(builtins), OTHER),
    **dict.fromkeys(_UNKNOWN_RESULTS),
    **{name: Builtin(name) for name in (*SAME_ELEMENTS, *MADE_AT_RUN_TIME, *KIND_QUESTIONS, *_OTHER_BUILTINS)},
}
STANDARD_LIBRARY: Mapping[tuple[str, str], Binding] = {
    ("functools", "partial"): Builtin("partial"),
    ("functools", "reduce"): None,
    ("importlib", "import_module"): Builtin("__import__"),
    ("copy", "deepcopy"): Builtin("deepcopy"),
    ("copy", "copy"): Builtin("deepcopy"),
}
_MODULES: Mapping[str, Binding] = {name: Builtin(name) for name in ("functools", "copy", "importlib")}


def imported_value(name: str) -> Binding:
    module, _, member = name.rpartition(".")
    if (module, member) in STANDARD_LIBRARY:
        return STANDARD_LIBRARY[module, member]
    if name in _MODULES:
        return _MODULES[name]
    return OTHER if name.partition(".")[0] in _FOREIGN else Symbol(name)
