"""The recorder: describes each distinct call of a framework once, and counts the others.

Calls are told apart by their function, by the form of their arrays, and by every plain value but floats, which change
with each step of a training. A call that was met before costs a look at its arguments and at the stack; all that takes
time (ranges, random state, changes of arrays) is done at its first.

A program makes millions of calls that take 1 µs each, so the way of a repeated call (``Recorder.caller``) is short.
What a function's name decides is decided once, and the stack is not searched if the same instruction calls again.

How calls are seen, and what an array is, only the framework's own part knows: it implements ``RecordingDialect``.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from time import perf_counter
from types import CodeType, FrameType
from typing import Any, Optional, Protocol

import numpy as np

from runners.errors import UnfreezableError
from runners.suite.frozen import Slot, encode
from runners.suite.recording import arrays as recorded_arrays
from runners.suite.recording.arrays import RecordedArray
from runners.suite.recording.book import Book, Entry, SiteCount
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


Options = Optional[Mapping[str, Any]]
"""The keyword arguments of a call; None or empty if it has none."""
Caller = Callable[[Sequence[Any], Options], Any]
"""Makes a call of one function with these arguments, and notes it."""
Array = Any
"""An array of the framework's."""
_CALLER = 2
"""Frames between a caller and the call that it makes."""


class ClaimedDevice(Protocol):
    """The device that arrays say they are on, though their memory is the host's: how calls are made meanwhile."""

    def on_host(self, args: Sequence[Any], kwargs: Options) -> tuple[Sequence[Any], Options]:
        """The arguments with the host in the place of the target; the same objects where nothing names it."""

    def stand_in(self, func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Make a call that the CPU refuses in another way."""


class RecordingDialect(Protocol):
    """The part of a framework in recording."""

    quick_layouts: Mapping[type, Callable[[Array], Any]]
    """By the class of an array, a quick look at what tells it apart from others of its dtype and shape; false if only
    ``layout`` sees that. ``RuntimeError``: nothing can.
    """
    by_value: frozenset[type]
    """Classes of plain values by which calls are told apart."""
    reads: frozenset[str]
    """Last names of functions that give values to Python, or carry an array to the host."""
    not_computing: frozenset[str]
    """Last names of functions that are not recorded at all."""
    carriers: frozenset[str]
    """Last names of functions that may carry an array to a device."""
    claimed_device: ClaimedDevice | None
    """None: arrays say where they are."""

    def layout(self, array: Array) -> Any:
        """The part of an array's form beside dtype and shape, for these classes."""

    def form(self, value: Any) -> Any:
        """That by which calls are told apart of a value of any other class."""

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
    """A distinct call, whether its backward pass is still looked for, and where it was made last."""

    __slots__ = ("entry", "is_differentiated", "last_made", "looks", "may_differentiate")

    def __init__(self, entry: Entry | None, may_differentiate: bool) -> None:
        """``entry`` is None if the call computes nothing."""
        self.entry = entry
        self.may_differentiate = may_differentiate
        self.is_differentiated = False
        self.looks = 0
        # One value, since several threads may make the same call.
        self.last_made: tuple[CodeType | None, int, SiteCount | None] = (None, -1, None)
        """An instruction of the user's code, and the count of its line."""


class Recorder:
    """The calls of a process, by what tells them apart."""

    def __init__(self, book: Book, sites: Sites, dialect: RecordingDialect, with_values: bool) -> None:
        self._book = book
        self._sites = sites
        self._dialect = dialect
        self._with_values = with_values
        self._key_of = _keys(dialect)
        self._is_on = True

    def stop(self) -> None:
        """Record nothing any more, as in a process that the command has forked."""
        self._is_on = False

    def caller(self, func: Any, last: str, name: str | None) -> Caller:
        """The way to make calls of a function. ``name`` is its public name, if it has one, and ``last`` its end."""
        if last in self._dialect.not_computing or last in self._dialect.reads:
            return self._passing(func, last, name)
        caller = self._recording(func, last, name)
        return self._carrying(caller, last, name) if last in self._dialect.carriers else caller

    def _passing(self, func: Any, last: str, name: str | None) -> Caller:
        """Make calls that are not recorded; those that give values to Python are counted."""
        is_read = last not in self._dialect.not_computing

        def call_unrecorded(args: Sequence[Any], kwargs: Options) -> Any:
            if is_read and self._is_on:
                self._cross(last, name, "to_host")
            args, kwargs = self._on_host(args, kwargs)
            return func(*args, **kwargs) if kwargs else func(*args)

        return call_unrecorded

    def _carrying(self, caller: Caller, last: str, name: str | None) -> Caller:
        """Count the calls that carry an array to the device, too."""

        def call_carrier(args: Sequence[Any], kwargs: Options) -> Any:
            args, kwargs = self._on_host(args, kwargs)
            if self._is_on and self._dialect.carries(last, args, kwargs or {}):
                self._cross(last, name, "to_device")
            return caller(args, kwargs)

        return call_carrier

    def _recording(self, func: Any, last: str, name: str | None) -> Caller:
        """Record calls."""
        calls: dict[Key, _DistinctCall] = {}
        key_of, getframe, clock, book, dialect = self._key_of, sys._getframe, perf_counter, self._book, self._dialect
        claimed_device, settle, may_go_backward = dialect.claimed_device, dialect.settle, dialect.may_go_backward

        def call_recorded(args: Sequence[Any], kwargs: Options) -> Any:
            try:
                key = (key_of(args), tuple(kwargs), key_of(kwargs.values())) if kwargs else key_of(args)
            except RuntimeError:
                # A sparse array of torch's has no strides.
                key = None
            call = calls.get(key)
            if call is None or not self._is_on:
                host_args, host_kwargs = self._on_host(args, kwargs)
                if host_args is not args or host_kwargs is not kwargs:
                    return call_recorded(host_args, host_kwargs)
                return self._first(calls, key, func, last, name, args, kwargs or {})
            entry = call.entry
            if entry is None:
                return func(*args, **kwargs) if kwargs else func(*args)
            start = clock()
            try:
                result = func(*args, **kwargs) if kwargs else func(*args)
            except Exception as error:
                if claimed_device is None:
                    raise
                result = _stood_in(claimed_device, error, func, args, kwargs or {})
            if settle is not None:
                settle(result)
            end = clock()
            frame = getframe(_CALLER)
            code, instruction, site_count = call.last_made
            if site_count is None or frame.f_lasti != instruction or frame.f_code is not code:
                site_count = self._site_count(call, entry, frame)
            entry.met_at(site_count, end - start)
            if call.may_differentiate and may_go_backward(result):
                self._watch_backward(call, entry, args, kwargs or {}, result)
            if end > book.tell_at:
                book.tell_counts()
            return result

        return call_recorded

    def _site_count(self, call: _DistinctCall, entry: Entry, frame: FrameType) -> SiteCount:
        """The count of the line that made a call in this frame."""
        site_count = entry.site_count(self._sites.of(frame))
        # In a frame of a package the line depends on the frames above.
        if self._sites.is_own(frame.f_code.co_filename):
            call.last_made = frame.f_code, frame.f_lasti, site_count
        return site_count

    def _on_host(self, args: Sequence[Any], kwargs: Options) -> tuple[Sequence[Any], Options]:
        claimed_device = self._dialect.claimed_device
        return (args, kwargs) if claimed_device is None else claimed_device.on_host(args, kwargs)

    def _first(
        self,
        calls: dict[Key, _DistinctCall],
        key: Key,
        func: Any,
        last: str,
        name: str | None,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
    ) -> Any:
        """Make a call that was not met before, and describe it."""
        if not self._is_on:
            return func(*args, **kwargs)
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
            if dialect.claimed_device is None:
                raise
            result = _stood_in(dialect.claimed_device, error, func, args, kwargs)
        if dialect.settle is not None:
            dialect.settle(result)
        seconds = perf_counter() - start
        with dialect.quiet():
            is_random = has_drawn()
            changes = [place for place, array in enumerate(arrays) if dialect.content(array) != before[place]]
        if not changes and next(self._arrays(result), None) is None:
            calls[key] = _DistinctCall(None, may_differentiate=False)
            return result
        if reason is None and not self._is_written(result):
            reason = NO_FORM
        if reason is None:
            entry = self._book.open(function, {**facts, "changes": changes, "is_random": is_random})
            is_own = any(dialect.is_differentiated(arrays[place]) for place in changes)
            call = _DistinctCall(entry, may_differentiate=not is_own and not is_random)
            if call.may_differentiate and dialect.may_go_backward(result):
                self._watch_backward(call, entry, args, kwargs, result)
        else:
            entry = self._book.leave_out(function, reason)
            call = _DistinctCall(entry, may_differentiate=False)
        calls[key] = call
        self._book.first(entry, self._site(), seconds)
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

    def _watch_backward(
        self, call: _DistinctCall, entry: Entry, args: Sequence[Any], kwargs: Mapping[str, Any], result: Any
    ) -> None:
        """Have the framework say when the program goes backward through a call."""
        dialect = self._dialect
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
                self._book.add(entry, {"gradient": {"wanted": differentiated_places, "results": weights}})

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

    def _cross(self, last: str, name: str | None, direction: str) -> None:
        self._book.cross(name or last, direction, self._site())

    def _site(self) -> Site:
        return self._sites.of(sys._getframe(_CALLER))


def _stood_in(
    claimed_device: ClaimedDevice, error: Exception, func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Any:
    """The result of what stands in for a call that raised; raises the call's own error if that raises too."""
    with suppress(Exception):
        return claimed_device.stand_in(func, args, kwargs)
    raise error


def _keys(dialect: RecordingDialect) -> Callable[[Collection[Any]], Key]:
    """Makes the part of arguments that tells calls apart: of an array its form, of a float only that it is one.

    Flat, since it is made for every call, and without a loop for one or two arguments, as most calls have. Each kind
    has a fixed number of members, so that no two keys are mistaken. Raises ``RuntimeError`` for an array without one.
    """
    # A dictionary is asked faster than another mapping.
    quick_layouts, layout_of = dict(dialect.quick_layouts), dialect.layout
    by_value = frozenset({int, bool, str, type(None), type(Ellipsis)}) | dialect.by_value

    def key_of(values: Collection[Any]) -> Key:
        count = len(values)
        if count == 1:
            (value,) = values
            kind = type(value)
            if kind in quick_layouts:
                return kind, value.dtype, value.shape, quick_layouts[kind](value) or layout_of(value)
        elif count == 2:
            value, other = values
            kind, other_kind = type(value), type(other)
            if kind in quick_layouts:
                layout = quick_layouts[kind](value) or layout_of(value)
                if other_kind in quick_layouts:
                    other_layout = quick_layouts[other_kind](other) or layout_of(other)
                    return kind, value.dtype, value.shape, layout, other_kind, other.dtype, other.shape, other_layout
                if other_kind in by_value:
                    return kind, value.dtype, value.shape, layout, other_kind, other
        return any_key_of(values)

    def any_key_of(values: Collection[Any]) -> Key:
        key: list[Any] = []
        for value in values:
            kind = type(value)
            if kind in quick_layouts:
                key += kind, value.dtype, value.shape, quick_layouts[kind](value) or layout_of(value)
            elif kind in by_value:
                key += kind, value
            elif isinstance(value, (tuple, list)):
                key += kind, len(value), any_key_of(value) if len(value) <= MOST_MEMBERS else None
            elif kind is dict:
                key += kind, tuple(value), any_key_of(value.values())
            elif kind is slice:
                key += kind, any_key_of((value.start, value.stop, value.step))
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
