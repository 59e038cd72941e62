"""Runs the example of a docstring, and decides for each statement whether the function under test does its work.

An example is frozen as its statements and the labels of the values to compare (``Example``). A framework's ``Dialect``
defines which names an example can use, how to force the device, which settings of the process an example may change,
and how to compare the framework's objects. After a run, all settings are restored, so that every run in a process
starts from the same state.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import json
import linecache
import os
import re
import sys
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from types import CodeType
from typing import Any, Protocol

import numpy as np

from runners.errors import UnfreezableError
from runners.suite.apart import AROUND, ASIDE, is_apart, named_in, read_by, set_apart, words_of
from runners.suite.cases import Context
from runners.suite.source import bound_names

MODULE = "__main__"
"""The ``__name__`` that an example's statements see, as at a prompt."""
_PROMPT = "<module>"
_FILE = re.compile(r"<(.+), statement (\d+)>")
_ORIGIN = re.compile(r'File "<([^"]+), statement (\d+)>", line (\d+), in (.+)')
_ORIGINS = "The op is created at"
"""TensorFlow prints this text before the source lines at which an operation was traced."""
_CUSTOMARY = frozenset({"_", "__"})
_COMPUTING = (ast.Call, ast.BinOp, ast.Compare, ast.Subscript, ast.AugAssign)
_PLAIN = (bool, int, float, complex, str, bytes, np.ndarray, np.generic)


class Text(str):
    """A text that a dialect makes from a framework's object, such as a dtype. Unlike other texts, it is compared,
    because it names no device."""


@dataclass(frozen=True)
class Statement:
    """One statement of a docstring, with its position among all statements."""

    place: int
    source: str


@dataclass(frozen=True)
class Example:
    """The statements of a docstring to run, and the labels of the values that a run returns.

    A label is the position of an expression (``"3"``), or the name of a variable (``"x"``), which stands for its value
    at the end.
    """

    name: str
    statements: tuple[Statement, ...]
    wanted: tuple[str, ...]

    def written(self) -> str:
        """Write the example as one line of JSON."""
        statements = [[statement.place, statement.source] for statement in self.statements]
        content = {"example": self.name, "statements": statements, "wanted": list(self.wanted)}
        return json.dumps(content, separators=(",", ":"))

    @classmethod
    def read(cls, written: str) -> Example:
        """Read an example from the JSON that ``written`` made."""
        content = json.loads(written)
        statements = tuple(Statement(place, source) for place, source in content["statements"])
        return cls(content["example"], statements, tuple(content["wanted"]))


@dataclass(frozen=True)
class Setting:
    """A setting of the process that an example may change, with functions to read and to restore it.

    If a setting cannot be restored (``write`` is None), examples that change it are excluded from suites.
    """

    name: str
    read: Callable[[], Any]
    write: Callable[[Any], object] | None = None


class Dialect(Protocol):
    """The framework's own part in running examples. Imports nothing before a method is called."""

    def names(self, device: Any) -> Mapping[str, Any]:
        """Return the names that examples use without importing them, and the helpers that ``rewritten`` needs."""

    def forced(self, device: Any) -> AbstractContextManager[Any]:
        """Make this device the default for new arrays during the block."""

    def rewritten(self, tree: ast.Module) -> ast.Module:
        """Wrap calls in a statement that ignore the default device of ``forced``, so that they use it."""

    def settings(self) -> Sequence[Setting]:
        """Return the settings of the framework that examples change."""

    def is_array(self, value: Any) -> bool:
        """Whether a value is an array of the framework, which its device copies to the host."""

    def is_changeable(self, value: Any) -> bool:
        """Whether a function can change this value in place, on any device."""

    def plain(self, value: Any) -> Any:
        """Convert an object of the framework, other than an array, to plain values.

        Raises ``UnfreezableError`` if that is impossible.
        """

    def compiled(self, context: Context, call: Callable[[], Any]) -> Callable[[], Any]:
        """Wrap a run as the device requires, for example in a compiled function."""


@dataclass(frozen=True)
class Step:
    """A compiled statement. ``value`` is the last expression, if the statement ends with one, and ``body`` is the rest
    of the statement."""

    place: int
    body: CodeType
    value: CodeType | None
    bound: frozenset[str]
    """The names that the statement binds."""
    beside: frozenset[str]
    """Those names in ``bound`` that an import binds to something other than the function."""
    names_function: bool
    used: frozenset[str]
    """The names that the statement reads."""
    computes: bool
    """Whether the statement computes something, instead of only showing or renaming values."""
    tree: ast.Module
    name: str
    """The function's last name (``matmul`` of ``torch.matmul``)."""
    has_only_rests: bool
    """Whether the statement computes something from the result of every call of the function in it."""
    apart: Mapping[str, str]
    """The sources of the expressions that run as functions of their own (``apart.py``), by the function's name."""

    def innermost(self, line: int) -> ast.stmt:
        """Return the smallest nested statement that contains a line."""
        holding = (node for node in ast.walk(self.tree) if isinstance(node, ast.stmt) and _holds(node, line))
        return min(holding, key=lambda node: (node.end_lineno or node.lineno) - node.lineno)


def _holds(node: ast.stmt, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or node.lineno)


@dataclass(frozen=True)
class Line:
    """A line of an example that led to an error: the position of its statement, and its number in the statement."""

    place: int
    number: int
    scope: str
    """The name of the code that contains the line: a function of the example, an expression that runs apart, or
    ``<module>``."""

    @property
    def is_at_prompt(self) -> bool:
        """Whether the line is outside all functions that the example defines."""
        return self.scope == _PROMPT or is_apart(self.scope)


def step_of(name: str, statement: Statement, rewritten: Callable[[ast.Module], ast.Module]) -> Step:
    """Compile a statement of a function's example.

    Puts the source into ``linecache``, where tracebacks and compilers of functions look for it.
    """
    filename = f"<{name}, statement {statement.place}>"
    source = statement.source + "\n"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    last_name = name.rpartition(".")[2]
    tree = rewritten(ast.parse(source))
    used = frozenset(read_by(tree))
    computes = any(isinstance(node, _COMPUTING) for node in ast.walk(tree))
    bound = frozenset(bound_names(tree.body)) - _CUSTOMARY
    uses = list(named_in(tree)).count(last_name)
    tree = set_apart(tree, last_name, statement.place)
    *body, last = tree.body
    value = None
    if isinstance(last, ast.Expr):
        value = compile(ast.Expression(last.value), filename, "eval", dont_inherit=True)
    else:
        body.append(last)
    code = compile(ast.Module(body, type_ignores=[]), filename, "exec", dont_inherit=True)
    return Step(
        statement.place,
        code,
        value,
        bound,
        beside=frozenset(_imported_beside(tree, last_name)),
        names_function=last_name in named_in(tree),
        used=used,
        computes=computes,
        tree=ast.parse(source),
        name=last_name,
        has_only_rests=0 < uses == list(named_in(tree)).count(AROUND),
        apart=words_of(tree),
    )


def _imported_beside(tree: ast.Module, last_name: str) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                if alias.name.rpartition(".")[2] != last_name:
                    yield alias.asname or alias.name.partition(".")[0]


class Session:
    """One run of an example in a namespace of its own. Collects the values of expressions and variables."""

    def __init__(self, names: Mapping[str, Any]) -> None:
        self.names = {
            **names,
            "print": self._print,
            "__name__": MODULE,
            ASIDE: lambda used, argument: argument(),
            AROUND: lambda used, rest, earlier, value: rest(value, *earlier),
        }
        self.given: dict[str, Any] = {}
        self.printed: list[Any] = []
        """The values that the last statement printed."""
        self._bound: dict[str, None] = {}

    def run(self, step: Step) -> None:
        """Execute a statement. If it prints values, these are its result instead of the value of its expression."""
        self.printed = []
        exec(step.body, self.names)
        value = eval(step.value, self.names) if step.value is not None else None
        self._bound.update(dict.fromkeys(sorted(step.bound)))
        if self.printed:
            value = self.printed[0] if len(self.printed) == 1 else list(self.printed)
        if value is not None:
            self.given[str(step.place)] = value

    def results(self) -> dict[str, Any]:
        """Return all values by their labels: the values of expressions, then the current values of variables."""
        return self.given | {name: self.names[name] for name in self._bound if name in self.names}

    def _print(self, *values: Any, **options: Any) -> None:
        """Keep the printed values instead of printing them: printing an array would copy it to the host."""
        self.printed += values


class OwnStatements:
    """Tracks which statements of an example are the function's own.

    A statement is the function's own if it names the function or uses an object that another own statement has bound.
    Arrays and plain values do not count as such objects: a computation from them is not the function's work.
    """

    def __init__(self, steps: Sequence[Step], dialect: Dialect) -> None:
        self._dialect = dialect
        # If no statement names the function, it is an operator, and all statements count as its own.
        self._all = not any(step.names_function for step in steps)
        self._objects: set[str] = set()
        self._values: dict[str, bool] = {}
        self._places: dict[int, bool] = {}
        self._made_at: dict[str, Step | None] = {}
        """For each label, the statement that made the value; None if the function may have changed it later."""
        self._ever: set[str] = set()
        """The names that were bound to an object of the function at any time."""
        self._apart: set[str] = set()
        """The names of the expressions that ran apart and were not the function's work."""

    def has(self, step: Step) -> bool:
        """Whether the statement is the function's own, given the names that earlier statements have bound."""
        return self._all or step.names_function or not self._objects.isdisjoint(step.used)

    def made_any_of(self, names: Iterable[str]) -> bool:
        """Whether one of these names is now bound to an object of the function."""
        return not self._objects.isdisjoint(names)

    def uses(self, step: Step, line: Line) -> bool:
        """Whether a line is the function's own.

        Outside functions, a line is the function's own if its whole statement is. In a function that the example
        defines, each line is judged alone, because it may run at any time. Expressions that ran apart are not.
        """
        if line.scope in self._apart:
            return False
        if line.is_at_prompt:
            return self._places.get(line.place, True)
        statement = step.innermost(line.number)
        return self._all or step.name in named_in(statement) or not self._ever.isdisjoint(read_by(statement))

    def ran_apart(self, expression: Callable[..., Any]) -> None:
        """Record that an expression was not the function's work."""
        self._apart.add(expression.__name__)

    def ran(self, step: Step, names: Mapping[str, Any]) -> None:
        """Record the names that a statement has bound or may have changed."""
        is_own = self._places[step.place] = self.has(step)
        gave = is_own or (not step.computes and any(map(self.have_given, step.used)))
        self._values |= dict.fromkeys((str(step.place), *step.bound), gave)
        self._made_at |= dict.fromkeys((str(step.place), *step.bound), step)
        self._objects -= step.bound
        if is_own:
            changed = [name for name in step.used if self._may_change(names.get(name))]
            self._values |= dict.fromkeys(changed, True)
            self._made_at |= dict.fromkeys(set(changed) - step.bound, None)
            bound = [name for name in step.bound - step.beside if name in names]
            self._objects |= {name for name in bound if not self.is_value(names[name])}
            self._ever |= self._objects

    def _may_change(self, value: Any) -> bool:
        # A NumPy array can change together with an array of the framework only on the host, where both may share
        # memory. It must count alike on every device.
        return not isinstance(value, np.ndarray) and self._dialect.is_changeable(value)

    def have_given(self, label: str) -> bool:
        """Whether the function made the value of a label, judged by the last statement that bound or changed it."""
        return self._values.get(label, True)

    def is_input(self, name: str) -> bool:
        """Whether a name is bound to a value that another line of the example has made."""
        return name in self._values and not self._values[name] and name not in self._objects

    def is_made_beside(self, label: str) -> bool:
        """Whether the value of a label is not a result of the function, but was computed from one by its statement."""
        step = self._made_at.get(label)
        return step is not None and step.has_only_rests

    def is_value(self, bound: Any) -> bool:
        """Whether an object is an array, a plain value, or a container of these."""
        if isinstance(bound, Mapping):
            return all(map(self.is_value, bound.values()))
        if isinstance(bound, (list, tuple)):
            return all(map(self.is_value, bound))
        return bound is None or isinstance(bound, _PLAIN) or self._dialect.is_array(bound)


def names_for(function: Any, name: str, dialect: Dialect, device: Any) -> dict[str, Any]:
    """Return the names that a function's example can use: those of its module, as in ``doctest``, and the dialect's.

    If a module defines ``range``, ``sum`` or another builtin, this is left out, because authors mean Python's.
    """
    home = sys.modules.get(getattr(function, "__module__", None) or name.rpartition(".")[0])
    around = (
        {key: value for key, value in vars(home).items() if not key.startswith("__") and not hasattr(builtins, key)}
        if home is not None
        else {}
    )
    return {**around, "np": np, "numpy": np, **dialect.names(device)}


def comparable(value: Any, dialect: Dialect) -> Any:
    """Convert a value to arrays of the framework and plain values. Raises ``UnfreezableError`` if that is impossible.

    A NumPy array was on no device, so it becomes plain numbers. Texts cannot be converted: many name the device.
    """
    if isinstance(value, (np.float64, np.complex128)):
        # These are subclasses of Python's float and complex.
        return value.item()
    if dialect.is_array(value) or value is None or isinstance(value, (bool, int, float, complex)):
        return value
    if isinstance(value, (np.ndarray, np.generic)):
        if value.dtype.kind not in "biufc":
            raise UnfreezableError(f"an array of NumPy's of {value.dtype}")
        return {"dtype": str(value.dtype), "values": value.tolist()}
    if isinstance(value, Text):
        return str(value)
    if isinstance(value, (list, tuple)):
        return [comparable(member, dialect) for member in value]
    if isinstance(value, Mapping):
        if not all(isinstance(key, (str, int)) for key in value):
            raise UnfreezableError("a mapping with other keys than texts")
        return {str(key): comparable(member, dialect) for key, member in value.items()}
    return comparable(dialect.plain(value), dialect)


def no_plain_form(value: Any) -> UnfreezableError:
    """Return the error that a dialect raises for a value without a plain form."""
    return UnfreezableError(f"a {type(value).__name__}")


@contextmanager
def kept(settings: Sequence[Setting]) -> Iterator[None]:
    """Restore these settings, and those of Python and NumPy, at the end of the block."""
    every = with_those_of_python(settings)
    before = [setting.read() for setting in every]
    try:
        with warnings.catch_warnings():
            yield
    finally:
        for setting, value in zip(every, before):
            if setting.write is not None and setting.read() != value:
                setting.write(value)


def with_those_of_python(settings: Sequence[Setting]) -> list[Setting]:
    """Return the settings of Python and NumPy, followed by the settings in the argument."""
    return [
        Setting("the working directory", os.getcwd, os.chdir),
        Setting("environment variables", lambda: dict(os.environ), _set_environment),
        Setting("NumPy's handling of errors", np.geterr, lambda before: np.seterr(**before)),
        Setting("NumPy's form of printing", np.get_printoptions, lambda before: np.set_printoptions(**before)),
        *settings,
    ]


def _set_environment(variables: Mapping[str, str]) -> None:
    os.environ.clear()
    os.environ.update(variables)


def lines_of(error: BaseException, example: str) -> list[Line]:
    """Find the innermost line of the example for each place at which an error arose.

    A compiler's message may name the lines at which the failing operations were traced. Otherwise, the traceback names
    the line.
    """
    told = [_ORIGIN.findall(origin) for origin in str(error).split(_ORIGINS)[1:]]
    mine = [found for lines in told if (found := [line for line in lines if line[0] == example])]
    if mine:
        return [Line(int(place), int(number), scope) for *_, (_, place, number, scope) in mine]
    frames = [(frame.f_code, number) for frame, number in traceback.walk_tb(error.__traceback__)]
    origins = [(_FILE.fullmatch(code.co_filename), number, code.co_name) for code, number in frames]
    traced = [
        Line(int(match[2]), number, scope)
        for match, number, scope in origins
        if match is not None and match[1] == example
    ]
    return traced[-1:]


def is_called_by(error: BaseException, function: Any) -> bool:
    """Whether an error arose while Python code of the function, or of a method of the class, was running."""
    codes = set(_codes_of(function))
    return any(frame.f_code in codes for frame, _ in traceback.walk_tb(error.__traceback__))


def _codes_of(function: Any) -> Iterator[CodeType]:
    members = vars(function).values() if isinstance(function, type) else [inspect.unwrap(function)]
    waiting = [getattr(getattr(member, "__func__", member), "__code__", None) for member in members]
    while waiting:
        code = waiting.pop()
        if isinstance(code, CodeType):
            yield code
            waiting += code.co_consts


def failure_at(step: Step, error: Exception, scope: str = _PROMPT) -> str:
    text = (str(error).strip().splitlines() or [""])[0]
    said = f"{type(error).__name__}: {text}"
    if is_apart(scope):
        return f"statement {step.place} of the example failed in an expression that does not call the function: {said}"
    return f"statement {step.place} of the example, which does not use the function, failed: {said}"
