"""The recorder: describes each distinct call of a framework once, and counts its repetitions.

Two calls are distinct if they differ in the function, in the form of an array, or in a plain value. Floats do not
count, because they change with each step of a training. All slow work (ranges, random state, changes of arrays) is done
at the first of equal calls. A repetition only compares the arguments and finds the user's line on the stack.

A program makes millions of calls that take 1 µs each, so the code for a repetition (``Recorder.caller``) is short.
Decisions that depend only on the function's name are made once. If the same instruction calls again, the stack is not
searched again.

Each framework implements ``RecordingDialect``, which observes the calls and knows the framework's arrays.
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
"""The maximum number of characters of a call's arguments, without its arrays."""
MOST_MEMBERS = 100
"""The maximum length of a list whose members are compared to tell calls apart."""
MOST_LOOKS = 8
"""The number of equal calls that are watched for a backward pass. It is more than 1, because a program may run the
first call without a backward pass."""
TOO_MANY = "the limit of distinct calls is reached"
NO_NAME = "it is not a public function that computes something"
NO_FORM = "it returns a value that a recording cannot hold"

Key = Any


@dataclass(frozen=True)
class RecordingOptions:
    """The options of a recording."""

    with_values: bool = False
    """Whether the values of floating arrays are stored too."""
    target: str | None = None
    """The device that arrays claim to be on, if the framework's recorder supports that."""


Options = Optional[Mapping[str, Any]]
"""The keyword arguments of a call; None or empty if it has none."""
Caller = Callable[[Sequence[Any], Options], Any]
"""Makes a call of one function with these arguments, and records it."""
Array = Any
"""An array of the framework."""
_CALLER = 2
"""The number of stack frames from a caller up to the code that makes the call."""


class ClaimedDevice(Protocol):
    """Makes calls while arrays claim to be on a device, although their memory is the host's."""

    def on_host(self, args: Sequence[Any], kwargs: Options) -> tuple[Sequence[Any], Options]:
        """Replace the target device by the host in the arguments. Returns the same objects if nothing names it."""

    def stand_in(self, func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Replace a call that failed on the CPU by another one with the same result."""


class RecordingDialect(Protocol):
    """The framework's own part in recording."""

    quick_layouts: Mapping[type, Callable[[Array], Any]]
    """For each class of arrays, a fast function that returns what distinguishes an array from others of its dtype and
    shape. It returns a false value if only ``layout`` can tell, and raises ``RuntimeError`` if nothing can.
    """
    by_value: frozenset[type]
    """Additional classes of plain values that are compared by value to tell calls apart."""
    reads: frozenset[str]
    """The last parts of the names of functions that give values to Python or copy an array to the host."""
    not_computing: frozenset[str]
    """The last parts of the names of functions that are not recorded at all."""
    carriers: frozenset[str]
    """The last parts of the names of functions that may copy an array to a device."""
    claimed_device: ClaimedDevice | None
    """Makes the calls if arrays claim to be on another device; None if they report their real device."""

    def layout(self, array: Array) -> Any:
        """Return what distinguishes an array from others of its dtype and shape (slower than ``quick_layouts``)."""

    def form(self, value: Any) -> Any:
        """Return what distinguishes values of any other class."""

    def carries(self, last: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
        """Whether a call of a function in ``carriers`` copies an array to a device."""

    def quiet(self) -> AbstractContextManager[Any]:
        """Record nothing during the block."""

    def is_array(self, value: Any) -> bool:
        """Whether a value is an array of the framework, or must be treated like one."""

    def refusal(self, arrays: Sequence[Array], args: Sequence[Any], kwargs: Mapping[str, Any]) -> str | None:
        """Return the reason why a call cannot be recorded, or None."""

    def dtype_of(self, array: Array) -> str:
        """Return the name of an array's dtype. Raises ``UnfreezableError`` if it is not a plain array."""

    def describe(self, array: Array, *, with_values: bool) -> RecordedArray:
        """Describe an array. Raises ``UnfreezableError`` if it cannot be made from a description."""

    def slot(self, array: Array, number: int, dtype: str) -> Slot:
        """Make the slot of an array in a call of this dtype."""

    def plain(self, tree: Any, leaf: Callable[[Array], Slot]) -> Any:
        """Replace the arrays of a tree with slots, and the framework's own objects with named values."""

    def content(self, array: Array) -> Any:
        """Return a value that differs after a change of the array."""

    def draws(self, last: str, name: str | None) -> Callable[[], bool]:
        """Observe a call from now on. Return a function that says afterwards whether the call drew random numbers."""

    @property
    def settle(self) -> Callable[[Any], None] | None:
        """A function that waits until a result is computed, for the timing; None if calls return only then."""

    def may_go_backward(self, result: Any) -> bool:
        """Check quickly whether the program may differentiate through a call with this result."""

    def is_differentiated(self, array: Array) -> bool:
        """Whether the program differentiates with respect to an array, or through it."""

    def on_backward(self, results: Sequence[Array], went: Callable[[], None]) -> None:
        """Arrange that ``went`` is called when the program goes backward through a call with these results. ``went``
        reports the backward pass."""


class _DistinctCall:
    """A distinct call: its entry, whether a backward pass is still expected, and the place that made it last."""

    __slots__ = ("entry", "is_differentiated", "last_made", "looks", "may_differentiate")

    def __init__(self, entry: Entry | None, may_differentiate: bool) -> None:
        """``entry`` is None if the call computes nothing."""
        self.entry = entry
        self.may_differentiate = may_differentiate
        self.is_differentiated = False
        self.looks = 0
        # One value, since several threads may make the same call.
        self.last_made: tuple[CodeType | None, int, SiteCount | None] = (None, -1, None)
        """The instruction of the user's code that made the call last, and the count of its line."""


class Recorder:
    """Makes and records the calls of a process."""

    def __init__(self, book: Book, sites: Sites, dialect: RecordingDialect, with_values: bool) -> None:
        self._book = book
        self._sites = sites
        self._dialect = dialect
        self._with_values = with_values
        self._key_of = _keys(dialect)
        self._is_on = True

    def stop(self) -> None:
        """Stop recording, for example in a process that the command has forked."""
        self._is_on = False

    def caller(self, func: Any, last: str, name: str | None) -> Caller:
        """Return a function that makes and records calls of ``func``.

        ``name`` is the public name of ``func``, if it has one. ``last`` is the name of ``func`` after
        the last dot, even if ``func`` has no public name.
        """
        if last in self._dialect.not_computing or last in self._dialect.reads:
            return self._passing(func, last, name)
        caller = self._recording(func, last, name)
        return self._carrying(caller, last, name) if last in self._dialect.carriers else caller

    def _passing(self, func: Any, last: str, name: str | None) -> Caller:
        """Return a caller that does not record calls. Calls that give values to Python are counted."""
        is_read = last not in self._dialect.not_computing

        def call_unrecorded(args: Sequence[Any], kwargs: Options) -> Any:
            if is_read and self._is_on:
                self._cross(last, name, "to_host")
            args, kwargs = self._on_host(args, kwargs)
            return func(*args, **kwargs) if kwargs else func(*args)

        return call_unrecorded

    def _carrying(self, caller: Caller, last: str, name: str | None) -> Caller:
        """Return a caller that also counts the calls that copy an array to the device."""

        def call_carrier(args: Sequence[Any], kwargs: Options) -> Any:
            args, kwargs = self._on_host(args, kwargs)
            if self._is_on and self._dialect.carries(last, args, kwargs or {}):
                self._cross(last, name, "to_device")
            return caller(args, kwargs)

        return call_carrier

    def _recording(self, func: Any, last: str, name: str | None) -> Caller:
        """Return a caller that records calls."""
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
        """Return the count of the user's line that made the call in this frame."""
        site_count = entry.site_count(self._sites.of(frame))
        # For a frame of a package, the user's line depends on the frames above, so it cannot be remembered.
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
        """Run a call that is not recorded yet, and record its description. Equal calls later are only counted."""
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
                # Whatever kind of arrays the user has, their program must go on.
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
        """Describe a call as data. Raises ``UnfreezableError`` with the reason if that is impossible."""
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
            raise UnfreezableError(f"its arguments have more than {MOST_TEXT:,} characters, without arrays")
        return {
            "name": f"{dtype}-{hashlib.sha256(text.encode()).hexdigest()[:8]}",
            "dtype": dtype,
            "call": call,
            "arrays": [array.written for array in descriptions],
        }

    def _watch_backward(
        self, call: _DistinctCall, entry: Entry, args: Sequence[Any], kwargs: Mapping[str, Any], result: Any
    ) -> None:
        """Record in the book whether the program goes backward through this call."""
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
        """Yield every array of a tree of lists, tuples and mappings, in order."""
        if self._dialect.is_array(tree):
            yield tree
        elif isinstance(tree, Mapping):
            for member in tree.values():
                yield from self._arrays(member)
        elif isinstance(tree, (list, tuple)):
            for member in tree:
                yield from self._arrays(member)

    def _distinct(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Array]:
        """Return every distinct array of a call, in the order of the slots."""
        return list({id(array): array for array in self._arrays((args, kwargs))}.values())

    def _is_written(self, result: Any) -> bool:
        """Whether a case could compare this result."""
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
    """Make a substitute for a call that raised. If the substitute also raises, raise the call's own error."""
    with suppress(Exception):
        return claimed_device.stand_in(func, args, kwargs)
    raise error


def _keys(dialect: RecordingDialect) -> Callable[[Collection[Any]], Key]:
    """Return a function that makes the key of arguments. Calls with equal keys are the same distinct call.

    Of an array the key has the form, of a float only the type. The key is flat because it is made for every call; for
    one or two arguments, as in most calls, there is no loop. Each kind of value has a fixed number of members in the
    key, so that different arguments have different keys. Raises ``RuntimeError`` for an array without a key.
    """
    # Lookup in a dictionary is faster than in other mappings.
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
    """Choose the dtype of a case: the dtype of the first floating array, otherwise the dtype of the first complex
    array, otherwise float32."""
    for kind in ("float", "complex"):
        for dtype in dtypes:
            if kind in dtype:
                return dtype
    return "float32"
