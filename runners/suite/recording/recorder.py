"""The recorder: describes each distinct call of a framework once, and counts the others.

Calls are told apart by their function, by the form of their arrays, and by every plain value but floats, which change
with each step of a training. A call that was met before costs a look at its arguments and at the stack; all that takes
time (ranges, random state, changes of arrays) is done at its first.

How calls are seen, and what an array is, only the framework's own part knows: it implements ``RecordingDialect``.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Protocol

import numpy as np

from runners.errors import UnfreezableError
from runners.suite.frozen import Slot, encode
from runners.suite.recording import arrays as recorded_arrays
from runners.suite.recording.arrays import RecordedArray
from runners.suite.recording.book import Book, Entry
from runners.suite.recording.sites import Site, Sites

MOST_TEXT = 100_000
"""Characters of a call's arguments beside its arrays."""
MOST_MEMBERS = 100
"""Members of a list by which calls are told apart."""
MOST_LOOKS = 8
"""Calls of a kind whose backward pass is looked for; a program may never go backward through the first."""
TOO_MANY = "more distinct calls of it than are kept"
NO_NAME = "it is no public function that computes"
NO_FORM = "it returns what has no written form"

Key = Any


@dataclass(frozen=True)
class RecordingOptions:
    """How a command is recorded."""

    with_values: bool = False
    """Whether the values of floating arrays are kept too."""
    target: str | None = None
    """The word of the device that arrays say they are on, where the framework can have them say so."""


StandIn = Callable[[Any, Sequence[Any], Mapping[str, Any]], Any]
"""Makes a call of the function with these arguments in another way."""
Array = Any
"""An array of the framework's."""
_CALLER = 2
"""Frames between a method of the recorder's that is called for a call, and that call."""


class RecordingDialect(Protocol):
    """The part of a framework in recording."""

    forms: Mapping[type, Callable[[Array], Any]]
    """By the class of an array, its form: that by which calls are told apart. ``RuntimeError``: it has none."""
    by_value: frozenset[type]
    """Classes of plain values by which calls are told apart."""
    reads: frozenset[str]
    """Last names of functions that give values to Python, or carry an array to the host."""
    not_computing: frozenset[str]
    """Last names of functions that are not recorded at all."""
    carriers: frozenset[str]
    """Last names of functions that may carry an array to a device."""
    stand_in: StandIn | None
    """Makes a call that the CPU refuses, in another way, if arrays say that they are elsewhere; None: they do not."""

    def form(self, value: Any) -> Any:
        """The form of a value of any other class."""

    def carries(self, last: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
        """Whether a call of a carrier brings an array to a device."""

    def quiet(self) -> AbstractContextManager[Any]:
        """A scope in which nothing is recorded."""

    def is_array(self, value: Any) -> bool:
        """Whether a value is one of the framework's arrays, or is taken for one."""

    def refusal(self, arrays: Sequence[Array], args: Sequence[Any], kwargs: Mapping[str, Any]) -> str | None:
        """The reason for which a call is not kept, or None."""

    def dtype_of(self, array: Array) -> str:
        """Raises ``UnfreezableError`` for what is not a plain array."""

    def describe(self, array: Array, *, with_values: bool) -> RecordedArray:
        """Raises ``UnfreezableError`` for an array that cannot be made anew."""

    def slot(self, array: Array, number: int, dtype: str) -> Slot:
        """The place of an array in a call of that dtype."""

    def plain(self, tree: Any, leaf: Callable[[Array], Slot]) -> Any:
        """The tree with slots for its arrays, and named values for the framework's own."""

    def content(self, array: Array) -> Any:
        """Differs after a change of the array."""

    def draws(self, last: str, name: str | None) -> Callable[[], bool]:
        """Called before a call; returns a function that says after it whether random numbers were drawn."""

    @property
    def settle(self) -> Callable[[Any], None] | None:
        """Waits until a result is computed, so that the clock shows it; None: a call returns when it is done."""

    def may_go_backward(self, result: Any) -> bool:
        """A quick look: whether the program may differentiate through a call that returned this."""

    def is_differentiated(self, array: Array) -> bool:
        """Whether the program differentiates by an array, or through it."""

    def on_backward(self, results: Sequence[Array], went: Callable[[], None]) -> None:
        """Have ``went`` called when the program goes backward through a call that returned these."""


class _DistinctCall:
    """A distinct call, and whether its backward pass is still looked for."""

    __slots__ = ("entry", "is_differentiated", "looks", "may_differentiate")

    def __init__(self, entry: Entry, may_differentiate: bool) -> None:
        self.entry = entry
        self.may_differentiate = may_differentiate
        self.is_differentiated = False
        self.looks = 0


class Recorder:
    """The calls of a process, by what tells them apart."""

    def __init__(self, book: Book, sites: Sites, dialect: RecordingDialect, with_values: bool) -> None:
        self._book = book
        self._sites = sites
        self._dialect = dialect
        self._with_values = with_values
        self._key = _keys(dialect)
        self._noted = dialect.reads | dialect.not_computing | dialect.carriers
        self._known: dict[Key, _DistinctCall | None] = {}
        """None: it computes nothing."""
        self._is_on = True

    def stop(self) -> None:
        """Record nothing any more, as in a process that the command has forked."""
        self._is_on = False

    def call(self, func: Any, last: str, name: str | None, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Make a call of the user's, and note it. ``name`` is its public name, if it has one, and ``last`` its end."""
        if not self._is_on:
            return func(*args, **kwargs)
        dialect = self._dialect
        if last in self._noted:
            if last in dialect.not_computing:
                return func(*args, **kwargs)
            is_read = last in dialect.reads
            if is_read or dialect.carries(last, args, kwargs):
                self._cross(last, name, is_read)
            if is_read:
                return func(*args, **kwargs)
        try:
            key = (func, self._key(args), (tuple(kwargs), self._key(kwargs.values())) if kwargs else None)
        except RuntimeError:
            # A sparse array of torch's has no strides.
            key = (func, None, None)
        distinct_call = self._known.get(key, _NEW)
        if distinct_call is _NEW:
            return self._first(key, func, last, name, args, kwargs)
        if distinct_call is None:
            return func(*args, **kwargs)
        start = perf_counter()
        try:
            result = func(*args, **kwargs)
        except Exception as error:
            if dialect.stand_in is None:
                raise
            result = _stood_in(dialect.stand_in, error, func, args, kwargs)
        if dialect.settle is not None:
            dialect.settle(result)
        end = perf_counter()
        distinct_call.entry.met(self._sites.of(sys._getframe(_CALLER)), end - start)
        if distinct_call.may_differentiate and dialect.may_go_backward(result):
            self._watch_backward(distinct_call, args, kwargs, result)
        if end > self._book.tell_at:
            self._book.tell_counts()
        return result

    def _first(
        self, key: Key, func: Any, last: str, name: str | None, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> Any:
        """Make a call that was not met before, and describe it."""
        function = name or last
        if not self._book.takes(function):
            return self._one_of_too_many(func, function, args, kwargs)
        dialect = self._dialect
        reason: str | None = None
        facts: dict[str, Any] = {}
        with dialect.quiet():
            try:
                facts = self._call_facts(name, args, kwargs)
            except UnfreezableError as error:
                reason = str(error)
            except Exception as error:
                # Of whatever kind the user's arrays are, their program goes on.
                reason = f"its arguments cannot be read: {type(error).__name__}"
            arrays = self._distinct(args, kwargs)
            before = list(map(dialect.content, arrays))
            has_drawn = dialect.draws(last, name)
        start = perf_counter()
        try:
            result = func(*args, **kwargs)
        except Exception as error:
            if dialect.stand_in is None:
                raise
            result = _stood_in(dialect.stand_in, error, func, args, kwargs)
        if dialect.settle is not None:
            dialect.settle(result)
        seconds = perf_counter() - start
        with dialect.quiet():
            is_random = has_drawn()
            changes = [place for place, array in enumerate(arrays) if dialect.content(array) != before[place]]
        if not changes and next(self._arrays(result), None) is None:
            self._known[key] = None
            return result
        if reason is None and not self._is_written(result):
            reason = NO_FORM
        if reason is None:
            entry = self._book.open(function, {**facts, "changes": changes, "is_random": is_random})
            is_own = any(dialect.is_differentiated(arrays[place]) for place in changes)
            distinct_call = _DistinctCall(entry, may_differentiate=not is_own and not is_random)
            self._watch_backward(distinct_call, args, kwargs, result)
        else:
            distinct_call = _DistinctCall(self._book.leave_out(function, reason), may_differentiate=False)
        self._known[key] = distinct_call
        self._book.first(distinct_call.entry, self._site(), seconds)
        return result

    def _one_of_too_many(self, func: Any, function: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        result = func(*args, **kwargs)
        if next(self._arrays(result), None) is not None:
            self._book.leave_out(function, TOO_MANY).met(self._site())
        return result

    def _call_facts(self, name: str | None, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """The facts of a call. Raises ``UnfreezableError`` with the reason why it has none."""
        if name is None:
            raise UnfreezableError(NO_NAME)
        dialect = self._dialect
        arrays = self._distinct(args, kwargs)
        if reason := dialect.refusal(arrays, args, kwargs):
            raise UnfreezableError(reason)
        dtype = _case_dtype([dialect.dtype_of(array) for array in arrays])
        descriptions: list[RecordedArray] = []
        slots: dict[int, Slot] = {}

        def leaf(array: Array) -> Slot:
            if id(array) not in slots:
                descriptions.append(dialect.describe(array, with_values=self._with_values))
                slots[id(array)] = dialect.slot(array, len(descriptions) - 1, dtype)
            return slots[id(array)]

        call = encode(dialect.plain((list(args), dict(kwargs)), leaf))
        text = json.dumps([dtype, call, [[array.dtype, array.shape] for array in descriptions]], separators=(",", ":"))
        if len(text) > MOST_TEXT:
            raise UnfreezableError(f"its arguments beside arrays have more than {MOST_TEXT:,} characters")
        return {
            "name": f"{dtype}-{hashlib.sha256(text.encode()).hexdigest()[:8]}",
            "dtype": dtype,
            "call": call,
            "arrays": [array.written for array in descriptions],
        }

    def _watch_backward(self, call: _DistinctCall, args: Sequence[Any], kwargs: Mapping[str, Any], result: Any) -> None:
        """Have the framework say when the program goes backward through a call."""
        dialect = self._dialect
        if not call.may_differentiate or not dialect.may_go_backward(result):
            return
        call.looks += 1
        call.may_differentiate = call.looks < MOST_LOOKS
        inputs, results = list(self._arrays((args, kwargs))), list(self._arrays(result))
        differentiated_places = [place for place, array in enumerate(inputs) if dialect.is_differentiated(array)]
        weights = [
            recorded_arrays.weight(tuple(array.shape), dialect.dtype_of(array)).written
            if dialect.is_differentiated(array)
            else None
            for array in results
        ]

        def went() -> None:
            if not call.is_differentiated and self._is_on:
                call.is_differentiated, call.may_differentiate = True, False
                self._book.add(call.entry, {"gradient": {"wanted": differentiated_places, "results": weights}})

        if differentiated_places and any(weights):
            dialect.on_backward(results, went)

    def _arrays(self, tree: Any) -> Iterator[Array]:
        """Every array of a tree of lists, tuples and mappings, in order."""
        if self._dialect.is_array(tree):
            yield tree
        elif isinstance(tree, Mapping):
            for member in tree.values():
                yield from self._arrays(member)
        elif isinstance(tree, (list, tuple)):
            for member in tree:
                yield from self._arrays(member)

    def _distinct(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Array]:
        """Every array of a call once, in the order of their slots."""
        return list({id(array): array for array in self._arrays((args, kwargs))}.values())

    def _is_written(self, result: Any) -> bool:
        """Whether all that a call returns can be compared."""
        if self._dialect.is_array(result):
            return True
        if isinstance(result, (list, tuple)):
            return all(map(self._is_written, result))
        if isinstance(result, Mapping):
            return all(map(self._is_written, result.values()))
        return result is None or isinstance(result, (bool, int, float, complex, str))

    def _cross(self, last: str, name: str | None, is_read: bool) -> None:
        self._book.cross(name or last, "to_host" if is_read else "to_device", self._site())

    def _site(self) -> Site:
        return self._sites.of(sys._getframe(_CALLER))


def _stood_in(stand_in: StandIn, error: Exception, func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """The result of what stands in for a call that raised; raises the call's own error if that raises too."""
    with suppress(Exception):
        return stand_in(func, args, kwargs)
    raise error


class _New:
    """Stands for what was not met yet."""


_NEW: Any = _New()


def _keys(dialect: RecordingDialect) -> Callable[[Iterable[Any]], Key]:
    """Makes the part of arguments that tells calls apart: of an array its form, of a float only that it is one.

    Flat, since it is made for every call. Each kind has a fixed number of members, so that no two keys are mistaken.
    Raises ``RuntimeError`` for an array without a form.
    """
    # A dictionary is asked faster than another mapping.
    forms, by_value = dict(dialect.forms), frozenset({int, bool, str, type(None), type(Ellipsis)}) | dialect.by_value

    def key_of(values: Iterable[Any]) -> Key:
        key: list[Any] = []
        for value in values:
            kind = type(value)
            form = forms.get(kind)
            if form is not None:
                key.append(kind)
                key.append(form(value))
            elif kind in by_value:
                key.append(kind)
                key.append(value)
            elif isinstance(value, (tuple, list)):
                key += kind, len(value), key_of(value) if len(value) <= MOST_MEMBERS else None
            elif kind is dict:
                key += kind, tuple(value), key_of(value.values())
            elif kind is slice:
                key += kind, key_of((value.start, value.stop, value.step))
            elif isinstance(value, (np.bool_, np.integer)):
                key += kind, value.item()
            else:
                key += kind, dialect.form(value)
        return tuple(key)

    return key_of


def _case_dtype(dtypes: Sequence[str]) -> str:
    """That of the first floating array, else of the first complex one."""
    for kind in ("float", "complex"):
        for dtype in dtypes:
            if kind in dtype:
                return dtype
    return "float32"
