"""Values of expressions, as far as the source shows them. This module does no I/O.

The resolver knows names of a framework, instances of its classes, and other values. An assessment also has *symbols*:
values of the user's own code. A symbol is a path that ``linking`` evaluates after every file has been read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache

from coordinator.catalogue.surfaces import ARRAYS, is_array_class
from coordinator.catalogue.usage.resolver import OTHER, Binding, Instance, Value
from coordinator.results.conditions import CallSite

LONGEST_PATH = 200
"""The maximum length of a symbol in characters. Longer symbols come from code that repeatedly binds a name to its own
member (``x = x.next``)."""
MOST_ALTERNATIVES = 4
_PLAIN_NAME = re.compile(r"[\w.]+")
SETTER = "setter"
"""The last part of the name of a function that sets a property: ``Net.scale.setter``."""
CALLED, ELEMENT, SUPER = "()", "[]", ".<super>"
MASK = "[bool]"
"""The last part of a symbol for the result of a comparison: ``f<x>[bool]`` for ``x > 0``."""
_ENDS_OF_PARTS = frozenset(")]>")
"""The last characters of calls, elements and parameters in a symbol."""
LOOKUPS = frozenset({"get", "pop"})
"""The methods of a mapping that return one of its values."""
_LIKE_ARRAYS = frozenset({"torch.nn.Parameter", "torch.nn.Buffer", "torch.nn.parameter.Parameter", "tf.Variable"})


@dataclass(slots=True, unsafe_hash=True)
class Thing(Instance):
    """An instance of a framework class, with its dtype and the call that created it, if the source shows them."""

    dtype: str | None = None
    made_by: CallSite | None = None
    is_on_host: bool = False
    """Whether the source created the array on the host and has not moved it to a device."""

    def __reduce__(self) -> tuple[type[Thing], tuple[object, ...]]:
        # This is several times as fast as the state of a frozen dataclass with slots, which ``Instance`` has.
        return Thing, (self.of, self.certain, self.dtype, self.made_by, self.is_on_host)

    @property
    def is_array(self) -> bool:
        return is_array(self.of)


@dataclass(frozen=True)
class Method(Value):
    """A member of an instance: a bound method."""

    owner: Thing
    name: str

    @property
    def full_name(self) -> str:
        return f"{self.owner.of}.{self.name}"


@dataclass(slots=True, unsafe_hash=True)
class Symbol(Value):
    """A value of the user's own code: ``package.module.Net().conv`` is an attribute of an instance of ``Net``.

    ``()`` is a call, ``[]`` an element, and ``f<x>`` the parameter ``x`` of ``f``. No code changes a symbol. The class
    is not frozen, because a large package creates millions of symbols, and a frozen one takes twice as long.
    """

    path: str

    def __reduce__(self) -> tuple[type[Symbol], tuple[str]]:
        # This is three times as fast as a dataclass with slots.
        return Symbol, (self.path,)

    def extend(self, suffix: str) -> Symbol | None:
        return Symbol(self.path + suffix) if len(self.path) < LONGEST_PATH else None

    @property
    def is_plain_name(self) -> bool:
        """Whether the symbol is a dotted name such as ``torch.nn.Linear``, without a call, subscript or parameter."""
        return self.path[-1:] not in _ENDS_OF_PARTS and _PLAIN_NAME.fullmatch(self.path) is not None

    @property
    def is_parameter(self) -> bool:
        return self.path.endswith(">") and not self.path.endswith(SUPER)

    @property
    def is_mask(self) -> bool:
        return self.path.endswith(MASK)

    @property
    def operand(self) -> Symbol:
        """The value whose comparison this symbol is; the symbol itself if it is no mask."""
        return Symbol(self.path.removesuffix(MASK)) if self.is_mask else self


@dataclass(frozen=True)
class Elements(Value):
    """A collection. One value, ``of``, stands for each of its elements. A collection of layers can also be called
    (``nn.Sequential``)."""

    of: Binding
    container: str | None = None


@dataclass(frozen=True)
class Items(Value):
    """A tuple, with the value of each item."""

    values: tuple[Binding, ...]


@dataclass(frozen=True)
class Wrapped(Value):
    """A function that wraps another: ``partial(F.pad, …)``, ``jax.jit(f)``."""

    function: Binding


@dataclass(frozen=True)
class Alternatives(Value):
    """Several possible values, of which the expression has one. The run of the program decides which one."""

    values: tuple[Binding, ...]


@dataclass(frozen=True)
class Parametrized(Value):
    """An instance of a generic class of the user, such as ``Param[jax.Array]``. If the user's class turns out to be
    unknown, the value is an instance of the class in brackets."""

    instance: Symbol
    argument: Binding


@dataclass(frozen=True)
class HostBatch(Value):
    """The named arrays that a tokenizer or an image processor made on the host."""

    root: str
    """The public root of the arrays' framework."""


@lru_cache(1024)
def is_array(name: str) -> bool:
    """Whether instances of the class with this name are arrays or behave like arrays."""
    return is_array_class(name) or name in _LIKE_ARRAYS


def array(root: str, *, certain: bool, dtype: str | None = None, is_on_host: bool = False) -> Thing:
    """An array of the framework with this public root."""
    return Thing(ARRAYS[root], certain, dtype, is_on_host=is_on_host)


def either(values: Iterable[Binding]) -> Binding:
    """Combine several possible values into one value. Known values take precedence over unknown values."""
    options: list[Binding] = []
    for value in values:
        for option in value.values if isinstance(value, Alternatives) else (value,):
            if option is None or option in options:
                continue
            # The place of an array that is on the host in only one of the branches is unknown.
            twin = _twin(option) if options else None
            if twin is not None and twin in options:
                options[options.index(twin)] = option if twin.is_on_host else twin
            else:
                options.append(option)
    specific_options = [value for value in options if value is not OTHER] or options
    return (
        specific_options[0]
        if len(specific_options) == 1
        else Alternatives(tuple(specific_options[:MOST_ALTERNATIVES]))
        if specific_options
        else None
    )


def mask_of(value: Binding) -> Binding:
    """The value of a comparison with a value: an array of booleans if the value is an array."""
    match value:
        case Thing():
            return replace(value, dtype="bool")
        case Symbol():
            return value if value.is_mask else value.extend(MASK)
        case Alternatives(values):
            return either(map(mask_of, values))
        case _:
            return value


def is_mask(value: Binding) -> bool:
    """Whether a value is the result of comparisons, such as ``(x > 0) & (x < 1)``."""
    match value:
        case Symbol():
            return value.is_mask
        case Alternatives(values):
            return all(map(is_mask, values))
        case _:
            return isinstance(value, Thing) and value.dtype == "bool"


def _twin(value: Binding) -> Thing | None:
    """Return the array, but with the opposite value of ``is_on_host``."""
    return replace(value, is_on_host=not value.is_on_host) if isinstance(value, Thing) and value.is_array else None


def element_of(value: Binding) -> Binding:
    """Return the value that stands for every element of a collection."""
    match value:
        case Thing():
            return value if value.is_array else None
        case Symbol():
            return value.extend(ELEMENT)
        case Elements():
            # Only the layers of this list are known.
            return Thing("torch.nn.Module", False) if value.of is None and value.container else value.of
        case Items() | Alternatives():
            options = value.values if isinstance(value, Items) else tuple(element_of(option) for option in value.values)
            return either(options)
        case _:
            return OTHER if value is OTHER else None


def item_of(value: Binding, index: int) -> Binding:
    """Return the value of the item at an index, which counts from the end if it is negative."""
    if isinstance(value, Items):
        return value.values[index] if -len(value.values) <= index < len(value.values) else None
    if isinstance(value, Symbol):
        return value.extend(f"[{index}]")
    return element_of(value)
