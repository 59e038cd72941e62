"""Mentions: the uses and definitions in one file, before names are resolved with other files. This module does no I/O.

A large package has hundreds of thousands of mentions, which worker processes send to the main process. Lists that are
needed for only one file at a time stay serialized (``Parcel``).
"""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from functools import partial
from itertools import chain
from sys import intern
from typing import Any, Generic, NamedTuple, TypeVar

from coordinator.assess.sites import DeviceQuestion, Flag, Guard, UnreadFile
from coordinator.catalogue.usage.resolver import Binding
from coordinator.results.conditions import CallSite

Item = TypeVar("Item", bound=tuple[Any, ...])
GLOBAL = "global"
"""Marks a call of a member of a global name. The global is usually a module or a table, so its type is not guessed."""
FASTEST = 1
"""The compression level of parcels."""


class Parcel(Generic[Item]):
    """A list of named tuples that is sent from one process to another as bytes and stays serialized, which takes much
    less memory. Every iteration decodes it again.

    The bytes contain plain tuples, because named tuples take twice as long to encode and to decode.
    """

    __slots__ = ("_items", "_kind", "_packed")

    def __init__(self, kind: type[Item], parcel: bytes = b"") -> None:
        self._kind = kind
        self._items: list[Item] = []
        self._packed = parcel

    def append(self, item: Item) -> None:
        self._items.append(item)

    @property
    def added(self) -> int:
        """The number of items that were appended since the list was decoded."""
        return len(self._items)

    def change(self, number: int, change: Callable[[Item], Item]) -> None:
        """Replace one of the appended items."""
        self._items[number] = change(self._items[number])

    def change_all(self, change: Callable[[Item], Item]) -> None:
        """Replace all appended items."""
        self._items[:] = map(change, self._items)

    def __iter__(self) -> Iterator[Item]:
        if not self._packed:
            return iter(self._items)
        make = partial(tuple.__new__, self._kind)
        return chain(map(make, pickle.loads(zlib.decompress(self._packed))), self._items)

    def __reduce__(self) -> tuple[type[Parcel[Item]], tuple[type[Item], bytes]]:
        items = [tuple(item) for item in self]
        content = zlib.compress(pickle.dumps(items, pickle.HIGHEST_PROTOCOL), FASTEST) if items else b""
        return Parcel, (self._kind, content)


class Form(Enum):
    """The syntactic form of a mention."""

    called = auto()
    named = auto()
    read = auto()
    """The mention reads a property."""
    unary = auto()
    binary = auto()
    in_place = auto()
    indexed = auto()
    written = auto()
    """The mention assigns to an index: ``x[index] = value``."""


class Mention(NamedTuple):
    """A use of a framework's value, or of a value in the user's own code that may turn out to be a framework's."""

    form: Form
    value: Binding
    """The value that is used: the callee, the function, the indexed value, or the left operand."""
    line: int
    column: int
    """The column, counted from 1."""
    within: str
    call: CallSite | None = None
    other: Binding = None
    """The right operand, or the index."""
    operator: str = ""
    """The operator's class in ``ast``, or the name of the member that is read; for a call, ``GLOBAL`` or empty."""
    guards: tuple[Guard, ...] = ()
    dtypes: frozenset[str] = frozenset()
    is_on_host: bool = False
    """Whether the mention computes with arrays that the source keeps on the host."""
    goes_to_host: bool = False
    """Whether the mention's result is only moved to the host."""
    is_option: bool = False
    """Whether the mention is an entry of a table, from which the program selects at run time, or is in a branch that a
    text selects."""
    is_in_loop: bool = False
    """Whether the mention is in a ``for`` or ``while`` loop of its function."""
    has_gradient: bool = True
    """Whether gradients are computed at the mention: it is not under ``torch.no_grad()`` or
    ``torch.inference_mode()``."""
    flags: tuple[Flag, ...] = ()
    """The flags that must be on where the mention is."""


class FunctionFact(NamedTuple):
    """A definition of a user's function."""

    parameters: tuple[str, ...]
    """The parameters. For a method, the first one (``self``) is not included."""
    returns: Binding
    is_property: bool = False
    owner: str = ""
    """The class of a method; empty for a function."""
    returns_numbers: bool = False
    """Whether the function returns Python values, such as a number or a text, and no array."""
    device_parameter: int | None = None
    """The number of the parameter ``device`` if its default is the host; otherwise None."""
    has_gradient: bool = True
    """Whether gradients may be computed in the function: it has no decorator such as ``@torch.no_grad()``."""
    flags: tuple[tuple[int, Flag], ...] = ()
    """The parameters that are off by default, with their numbers."""


class Passed(NamedTuple):
    """Arguments that a call passes to a user's function."""

    callee: Binding
    positional: tuple[Binding, ...]
    keywords: dict[str, Binding]


class MemberUse(NamedTuple):
    """A use of a member that may be a method of a user's class."""

    within: str
    """The function that uses the member, in the form of ``Mention.within``."""
    name: str
    is_own: bool
    """Whether the member belongs to the function's own class."""


@dataclass(slots=True)
class Facts:
    """The definitions in a file, each by its path within the module."""

    names: dict[str, Binding] = field(default_factory=dict)
    classes: dict[str, tuple[Binding, ...]] = field(default_factory=dict)
    """The base classes of each class."""
    functions: dict[str, FunctionFact] = field(default_factory=dict)
    stars: dict[str, list[str]] = field(default_factory=dict)
    """The modules from which a module imports all names (``import *``)."""
    imports: set[str] = field(default_factory=set)
    """The modules and members of modules that a file imports, other than a framework's."""
    exports: set[str] = field(default_factory=set)
    """The names that a file lists in ``__all__``."""
    parameters: dict[str, str] = field(default_factory=dict)
    """The framework of each parameter that is used like an array."""
    batches: set[str] = field(default_factory=set)
    """The parameters that the code indexes with a text, as in ``batch["image"]``. Such a parameter may contain
    arrays."""
    passed: Parcel[Passed] = field(default_factory=partial(Parcel, Passed))
    defaults: dict[str, Binding] = field(default_factory=dict)
    """The default values of parameters."""
    off_flags: set[Flag] = field(default_factory=set)
    """The parameters and fields that are off by default."""
    on_flags: set[Flag] = field(default_factory=set)
    """The flags that are on by default, or that a file may switch on."""
    _shared: dict[Binding, Binding] = field(default_factory=dict)
    """The values of names. Equal values share one object, because seven names have one distinct value on average. A
    value that cannot be hashed is under its ``repr``."""
    _shared_parameters: dict[tuple[str, ...], tuple[str, ...]] = field(default_factory=dict)

    def add(self, other: Facts) -> None:
        """Add the definitions of another file, except the arguments that the file's calls pass."""
        for path, value in other.names.items():
            self.names[path] = self._share(value)
        for path, bases in other.classes.items():
            self.classes[path] = tuple(map(self._share, bases))
        for path, function in other.functions.items():
            parameters = tuple(map(intern, function.parameters))
            # The callers and callees of the call graph have these names too.
            self.functions[intern(path)] = function._replace(
                parameters=self._shared_parameters.setdefault(parameters, parameters),
                returns=self._share(function.returns),
            )
        self.stars.update(other.stars)
        self.imports.update(map(intern, other.imports))
        self.exports.update(map(intern, other.exports))
        self.parameters.update(other.parameters)
        self.batches |= other.batches
        self.defaults.update(other.defaults)
        self.off_flags |= other.off_flags
        self.on_flags |= other.on_flags

    def finish(self) -> None:
        """Release what is only needed to add definitions."""
        self._shared.clear()
        self._shared_parameters.clear()

    def _share(self, value: Binding) -> Binding:
        try:
            return self._shared.setdefault(value, value)
        except TypeError:  # The call that created a layer cannot be hashed.
            return self._shared.setdefault(repr(value), value)


@dataclass(slots=True)
class FileReading:
    """The result of reading one file."""

    path: str
    module: str
    frameworks: frozenset[str] = frozenset()
    is_package: bool = False
    imports_numpy: bool = False
    imports_pandas: bool = False
    star_imports: int = 0
    dynamic_names: int = 0
    mentions: Parcel[Mention] = field(default_factory=partial(Parcel, Mention))
    facts: Facts = field(default_factory=Facts)
    members: Parcel[MemberUse] = field(default_factory=partial(Parcel, MemberUse))
    questions: list[DeviceQuestion] = field(default_factory=list)
    unread: list[UnreadFile] = field(default_factory=list)
    is_read: bool = True
    places: Sequence[tuple[int, int]] = ()
    """For each line of a notebook's code, the number of the cell and the line in the cell."""

    def without_names(self) -> FileReading:
        """Return this reading without its definitions, which were already added to the definitions of all files."""
        return replace(self, facts=Facts(passed=self.facts.passed))

    def place(self, line: int) -> tuple[str, int]:
        """The path and line that a report shows for a line of the file."""
        if not self.places:
            return self.path, line
        cell, line = self.places[line - 1]
        return f"{self.path}#{cell}", line

    def of_cells(self, places: Sequence[tuple[int, int]], unread: Sequence[UnreadFile]) -> FileReading:
        """Return this reading as the reading of a notebook: ``places`` has the cell and line for each line of the
        notebook's code, and ``unread`` the cells that could not be read."""
        reading = replace(self, places=places, unread=list(unread))
        reading.questions = [
            DeviceQuestion(*reading.place(question.line), question.text) for question in self.questions
        ]
        return reading
