"""Examples: the statements of a docstring as data, and what each of them is: its function's, or another's.

A docstring's example is frozen as its statements and the labels of the values to compare (``Example``); a framework's
``Dialect`` says which names they find, how the device is forced, which settings of the process they may turn, and
what of its own objects can be compared. Everything that a run turns is put back when it ends, so the next run in the
same process begins as the first did.
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
"""The module in which a statement of an example seems to stand, as at a prompt."""
_PROMPT = "<module>"
_FILE = re.compile(r"<(.+), statement (\d+)>")
_ORIGIN = re.compile(r'File "<([^"]+), statement (\d+)>", line (\d+), in (.+)')
_ORIGINS = "The op is created at"
"""TensorFlow's words before the source lines at which an operation was traced."""
_CUSTOMARY = frozenset({"_", "__"})
_COMPUTING = (ast.Call, ast.BinOp, ast.Compare, ast.Subscript, ast.AugAssign)
_PLAIN = (bool, int, float, complex, str, bytes, np.ndarray, np.generic)


class Text(str):
    """A text that a dialect gives for an object of its framework, such as a dtype: it names no device."""


@dataclass(frozen=True)
class Statement:
    """One statement of a docstring, by its place among all of them."""

    place: int
    source: str


@dataclass(frozen=True)
class Example:
    """The statements of a docstring that are run, and the labels of the values that a run returns.

    A label is the place of an expression (``"3"``), or the name of a variable (``"x"``): its value at the end.
    """

    name: str
    statements: tuple[Statement, ...]
    wanted: tuple[str, ...]

    def written(self) -> str:
        """The example as one line of JSON."""
        statements = [[statement.place, statement.source] for statement in self.statements]
        content = {"example": self.name, "statements": statements, "wanted": list(self.wanted)}
        return json.dumps(content, separators=(",", ":"))

    @classmethod
    def read(cls, written: str) -> Example:
        """The example that was written."""
        content = json.loads(written)
        statements = tuple(Statement(place, source) for place, source in content["statements"])
        return cls(content["example"], statements, tuple(content["wanted"]))


@dataclass(frozen=True)
class Setting:
    """A setting of the whole process that an example may turn, and how it is read and put back.

    An example that turns one which nothing puts back is left out of a suite.
    """

    name: str
    read: Callable[[], Any]
    write: Callable[[Any], object] | None = None


class Dialect(Protocol):
    """The part of a framework in its examples. Nothing is imported before it is asked."""

    def names(self, device: Any) -> Mapping[str, Any]:
        """The names that examples use without importing them, and the helpers of ``rewritten``."""

    def forced(self, device: Any) -> AbstractContextManager[Any]:
        """A scope in which arrays that name no device are made on this one."""

    def rewritten(self, tree: ast.Module) -> ast.Module:
        """The same statement, with calls that no scope can force wrapped in helpers."""

    def settings(self) -> Sequence[Setting]:
        """The settings of the framework that examples turn."""

    def is_array(self, value: Any) -> bool:
        """Whether a value is an array of the framework, which its device copies to the host."""

    def is_changeable(self, value: Any) -> bool:
        """Whether a function that is given this value may change it on any device."""

    def plain(self, value: Any) -> Any:
        """A value of the framework that is no array as plain ones; ``UnfreezableError`` if it has no such form."""

    def compiled(self, context: Context, call: Callable[[], Any]) -> Callable[[], Any]:
        """The run as the device demands it."""


@dataclass(frozen=True)
class Step:
    """A statement as it is executed: all of it but a last expression, that expression, and the names in it."""

    place: int
    body: CodeType
    value: CodeType | None
    bound: frozenset[str]
    beside: frozenset[str]
    """Of these names those that an import binds to anything but the function."""
    names_function: bool
    used: frozenset[str]
    """The names that it reads."""
    computes: bool
    """Whether it computes something, and does not only show what others did, or name it anew."""
    tree: ast.Module
    name: str
    """The function's last name."""
    has_only_rests: bool
    """Whether more is computed of the result of each call of the function in it."""
    apart: Mapping[str, str]
    """The expressions in it that run apart, by the names of their code."""

    def innermost(self, line: int) -> ast.stmt:
        """The smallest statement within it that holds a line."""
        holding = (node for node in ast.walk(self.tree) if isinstance(node, ast.stmt) and _holds(node, line))
        return min(holding, key=lambda node: (node.end_lineno or node.lineno) - node.lineno)


def _holds(node: ast.stmt, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or node.lineno)


@dataclass(frozen=True)
class Line:
    """An example's line that led to an error, by the place of its statement and by its number within the statement."""

    place: int
    number: int
    scope: str
    """The name of the code: of a function that the example defines, of an expression that is apart, or of neither."""

    @property
    def is_at_prompt(self) -> bool:
        """Whether it is no line of a function that the example defines."""
        return self.scope == _PROMPT or is_apart(self.scope)


def step_of(name: str, statement: Statement, rewritten: Callable[[ast.Module], ast.Module]) -> Step:
    """Compile a statement of a function's example.

    Its source is left where tracebacks and compilers of functions look for it.
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
    """One run of an example, with names of its own: what its statements give, and what they leave bound."""

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
        """Execute a statement. The values that it prints count as given, in place of its own."""
        self.printed = []
        exec(step.body, self.names)
        value = eval(step.value, self.names) if step.value is not None else None
        self._bound.update(dict.fromkeys(sorted(step.bound)))
        if self.printed:
            value = self.printed[0] if len(self.printed) == 1 else list(self.printed)
        if value is not None:
            self.given[str(step.place)] = value

    def results(self) -> dict[str, Any]:
        """Every value by its label: those of expressions, then the variables as they are by now."""
        return self.given | {name: self.names[name] for name in self._bound if name in self.names}

    def _print(self, *values: Any, **options: Any) -> None:
        """Keep what is printed as values: printing an array would carry it to the host."""
        self.printed += values


class OwnStatements:
    """The statements of an example that are its function's: they name it, or use an object that such a one has bound.

    An array or a plain value is no such object: what is computed from it is not the function's work.
    """

    def __init__(self, steps: Sequence[Step], dialect: Dialect) -> None:
        self._dialect = dialect
        # None names it where it is an operator.
        self._all = not any(step.names_function for step in steps)
        self._objects: set[str] = set()
        self._values: dict[str, bool] = {}
        self._places: dict[int, bool] = {}
        self._made_at: dict[str, Step | None] = {}
        """By its label the statement that made a value; None of one that the function may have changed since."""
        self._ever: set[str] = set()
        """The objects that were bound at any time."""
        self._apart: set[str] = set()
        """The expressions of its statements that ran apart, by the names of their code."""

    def has(self, step: Step) -> bool:
        """Whether the statement is the function's, by what those before it have bound."""
        return self._all or step.names_function or not self._objects.isdisjoint(step.used)

    def made_any_of(self, names: Iterable[str]) -> bool:
        """Whether one of these names is bound to an object of the function's by now."""
        return not self._objects.isdisjoint(names)

    def uses(self, step: Step, line: Line) -> bool:
        """Whether the line of a statement is the function's: the whole of it at a prompt, and in a function that the
        example defines the one line, which may run at any time. What ran apart is not."""
        if line.scope in self._apart:
            return False
        if line.is_at_prompt:
            return self._places.get(line.place, True)
        statement = step.innermost(line.number)
        return self._all or step.name in named_in(statement) or not self._ever.isdisjoint(read_by(statement))

    def ran_apart(self, expression: Callable[..., Any]) -> None:
        """Note that an expression was no work of the function's."""
        self._apart.add(expression.__name__)

    def ran(self, step: Step, names: Mapping[str, Any]) -> None:
        """Note what a statement has bound."""
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
        # Arrays of NumPy are on no device: one changes with an array of the framework where both share memory, and only
        # the host's arrays do.
        return not isinstance(value, np.ndarray) and self._dialect.is_changeable(value)

    def have_given(self, label: str) -> bool:
        """Whether the value of that label is the function's doing, by the last statement that bound or changed it."""
        return self._values.get(label, True)

    def is_input(self, name: str) -> bool:
        """Whether a name is bound to what another line of the example has made."""
        return name in self._values and not self._values[name] and name not in self._objects

    def is_made_beside(self, label: str) -> bool:
        """Whether the value of that label is what a statement computed of the function's results, and no result."""
        step = self._made_at.get(label)
        return step is not None and step.has_only_rests

    def is_value(self, bound: Any) -> bool:
        """Whether a name is bound to an array or a plain value, or a container of such."""
        if isinstance(bound, Mapping):
            return all(map(self.is_value, bound.values()))
        if isinstance(bound, (list, tuple)):
            return all(map(self.is_value, bound))
        return bound is None or isinstance(bound, _PLAIN) or self._dialect.is_array(bound)


def names_for(function: Any, name: str, dialect: Dialect, device: Any) -> dict[str, Any]:
    """The names that an example of a function finds: those of its module, as ``doctest`` has it, and the dialect's.

    A module's own ``range`` or ``sum`` is left out, as authors mean Python's.
    """
    home = sys.modules.get(getattr(function, "__module__", None) or name.rpartition(".")[0])
    around = (
        {key: value for key, value in vars(home).items() if not key.startswith("__") and not hasattr(builtins, key)}
        if home is not None
        else {}
    )
    return {**around, "np": np, "numpy": np, **dialect.names(device)}


def comparable(value: Any, dialect: Dialect) -> Any:
    """The value as arrays of the framework among plain ones. Raises ``UnfreezableError`` if it has no such form.

    An array of NumPy was on no device, so it becomes plain numbers. Texts are left out: they tend to name the device.
    """
    if isinstance(value, (np.float64, np.complex128)):
        # These are Python's own numbers, too, and are written as such.
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
    """The error of a dialect that has no plain form of a value."""
    return UnfreezableError(f"a {type(value).__name__}")


@contextmanager
def kept(settings: Sequence[Setting]) -> Iterator[None]:
    """Put the settings back at the end, with those of Python and NumPy."""
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
    """These settings, and those that belong to no framework."""
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
    """The innermost line of the example for each place at which an error arose.

    A compiler tells in its message at which line each operation was traced that it refuses; else the traceback does.
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
    """Whether Python code of a function, or of the methods of a class, was running when an error arose."""
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
