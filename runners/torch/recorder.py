"""Recording on torch: a function mode sees every public call of the user's, and describes each distinct one once.

Calls are told apart by their function, by dtype, shape and strides of their arrays, and by every plain value but
floats, which change with each step of a training. A call that was met before costs a look at its arguments and at the
stack; all that takes time (ranges, random state, what it changes) is done at its first.

A dispatch mode is not used. It would be called for every operation inside of each call and for those of the backward
pass, which have no public name to be charted under. That a program goes backward through a call is noticed by a hook on
the call's own node of the graph.

Arrays do not say that they are on the target: a recorder's tensors that answer ``device.type`` otherwise than where
their memory is go wrong in whatever reads both, such as NumPy, ``torch.load`` and C++ extensions. So a branch on the
device is taken as on the CPU.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from time import perf_counter
from typing import Any

import torch
from torch.overrides import TorchFunctionMode, resolve_name
from torch.utils._python_dispatch import _disable_current_modes

from runners.errors import UnfreezableError
from runners.suite.frozen import Slot, encode
from runners.suite.recording import arrays as recorded_arrays
from runners.suite.recording.arrays import RecordedArray
from runners.suite.recording.book import Book, Entry
from runners.suite.recording.sites import Site, Sites
from runners.torch.placement.threads import entered_by_threads
from runners.torch.recordable import NOT_COMPUTING, READS, public_name, recordable
from runners.torch.ways import tensors_in
from runners.torch.writing import dtype_of, numpy_of, plain, strides_of

FOLDERS = (os.path.dirname(os.path.abspath(torch.__file__)),)
"""In these nobody is a user."""
MOST_TEXT = 100_000
"""Characters of a call's arguments beside its arrays."""
MOST_MEMBERS = 100
"""Members of a list by which calls are told apart."""
MOST_HOOKS = 8
"""Calls of a kind whose nodes are watched for the backward pass; a program may never go backward through the first."""
TOO_MANY = "more distinct calls of it than are kept"
NO_NAME = "it is no public function that computes"
OUT = "it writes into an array that it is given as out"
ON_HOST = "without a device it makes an array on the host, whatever the target"
OWN_CLASS = "an array of a class of its own"
NO_FORM = "it returns what has no written form"

_CARRIERS = frozenset({"to", "cuda", "tensor", "as_tensor"})
"""Functions that bring an array to a device if they name one."""
_NOTED = READS | NOT_COMPUTING | _CARRIERS
_BY_VALUE = frozenset(
    {int, bool, str, type(None), torch.dtype, torch.device, torch.memory_format, torch.layout, type(Ellipsis)}
)
_Tensor, _Parameter = torch.Tensor, torch.nn.Parameter
_BACKWARD = torch.Tensor.backward
_PLAIN_CLASSES = (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer)

Key = Any
_CALLER = 2
"""Frames between a method of the recorder's that is called for a call, and that call."""


@contextmanager
def recording(book: Book, folder: str, with_values: bool) -> Iterator[Callable[[], None]]:
    """Record the calls of this thread, and of those that it starts, into the book; gives the way to stop."""
    recorder = Recorder(book, Sites(folder, FOLDERS), with_values)
    with entered_by_threads(lambda: _Mode(recorder)), _Mode(recorder):
        yield recorder.stop


class _Mode(TorchFunctionMode):  # type: ignore[misc]
    """Hands each call of its thread to the recorder."""

    def __init__(self, recorder: Recorder) -> None:
        super().__init__()
        self._recorder = recorder

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None) -> Any:
        if func is _BACKWARD:
            # A call from within a mode is seen by no mode: the functions of the user's that the backward pass calls
            # are seen if it is started by torch's own function, which no mode is asked about.
            with self:
                return _backward(*args, **(kwargs or {}))
        return self._recorder.call(func, args, kwargs or {})


def _backward(
    tensor: Any, gradient: Any = None, retain_graph: Any = None, create_graph: bool = False, inputs: Any = None
) -> None:
    torch.autograd.backward(tensor, gradient, retain_graph, create_graph, inputs=inputs)


class _Call:
    """A distinct call, and whether its backward pass is still looked for."""

    __slots__ = ("entry", "hooks", "is_differentiated", "may_differentiate")

    def __init__(self, entry: Entry, may_differentiate: bool) -> None:
        self.entry = entry
        self.may_differentiate = may_differentiate
        self.is_differentiated = False
        self.hooks = 0


class Recorder:
    """The calls of a process, by what tells them apart."""

    def __init__(self, book: Book, sites: Sites, with_values: bool) -> None:
        self._book = book
        self._sites = sites
        self._with_values = with_values
        self._known: dict[Key, _Call | None] = {}
        """None: it computes nothing."""
        self._names: dict[Any, tuple[str, str | None]] = {}
        self._is_on = True

    def stop(self) -> None:
        """Record nothing any more, as in a process that the command has forked."""
        self._is_on = False

    def call(self, func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Make a call of the user's, and note it."""
        if not self._is_on:
            return func(*args, **kwargs)
        last, name = self._names.get(func) or self._name(func)
        if last in _NOTED:
            if last in NOT_COMPUTING:
                return func(*args, **kwargs)
            if last in READS or _carries(last, args, kwargs):
                self._cross(last, name)
            if last in READS:
                return func(*args, **kwargs)
        try:
            key = (func, _key(args), (tuple(kwargs), _key(kwargs.values())) if kwargs else None)
        except RuntimeError:
            # A sparse array has no strides.
            key = (func, None, None)
        known = self._known.get(key, _NEW)
        if known is _NEW:
            return self._first(key, func, last, name, args, kwargs)
        if known is None:
            return func(*args, **kwargs)
        begun = perf_counter()
        result = func(*args, **kwargs)
        ended = perf_counter()
        known.entry.met(self._sites.of(sys._getframe(_CALLER)), ended - begun)
        if known.may_differentiate and (type(result) is not _Tensor or result.grad_fn is not None):
            self._watch_backward(known, args, kwargs, result)
        if ended > self._book.tell_at:
            self._book.tell_counts()
        return result

    def _first(
        self, key: Key, func: Any, last: str, name: str | None, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> Any:
        """Make a call that was not met before, and describe it."""
        function = name or last
        if not self._book.takes(function):
            return self._one_of_too_many(func, function, args, kwargs)
        reason: str | None = None
        facts: dict[str, Any] = {}
        with torch._C.DisableTorchFunction(), _disable_current_modes():
            try:
                facts = self._described(last, name, args, kwargs)
            except UnfreezableError as error:
                reason = str(error)
            except Exception as error:
                # Of whatever kind the user's arrays are, their program goes on.
                reason = f"its arguments cannot be read: {type(error).__name__}"
            given = _distinct(args, kwargs)
            before = list(map(_content, given))
            state = torch.default_generator.get_state()
        begun = perf_counter()
        result = func(*args, **kwargs)
        seconds = perf_counter() - begun
        with torch._C.DisableTorchFunction(), _disable_current_modes():
            is_random = not torch.equal(state, torch.default_generator.get_state())
            changes = [place for place, tensor in enumerate(given) if _content(tensor) != before[place]]
        if not changes and next(tensors_in(result), None) is None:
            self._known[key] = None
            return result
        if reason is None and not _is_written(result):
            reason = NO_FORM
        if reason is None:
            entry = self._book.open(function, {**facts, "changes": changes, "is_random": is_random})
            is_own = any(given[place].requires_grad for place in changes)
            known = _Call(entry, may_differentiate=not is_own and not is_random)
            self._watch_backward(known, args, kwargs, result)
        else:
            known = _Call(self._book.leave_out(function, reason), may_differentiate=False)
        self._known[key] = known
        self._book.first(known.entry, self._site(), seconds)
        return result

    def _one_of_too_many(self, func: Any, function: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        result = func(*args, **kwargs)
        if next(tensors_in(result), None) is not None:
            self._book.leave_out(function, TOO_MANY).met(self._site())
        return result

    def _described(self, last: str, name: str | None, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """The facts of a call. Raises ``UnfreezableError`` with the reason why it has none."""
        if name is None:
            raise UnfreezableError(NO_NAME)
        if kwargs.get("out") is not None:
            raise UnfreezableError(OUT)
        tensors = _distinct(args, kwargs)
        if any(type(tensor) not in _PLAIN_CLASSES for tensor in tensors):
            raise UnfreezableError(OWN_CLASS)
        if not tensors and not _names_device((*args, *kwargs.values())):
            raise UnfreezableError(ON_HOST)
        dtype = _case_dtype([dtype_of(tensor) for tensor in tensors])
        described: list[RecordedArray] = []
        slots: dict[int, Slot] = {}

        def leaf(tensor: torch.Tensor) -> Slot:
            if id(tensor) not in slots:
                values, own = numpy_of(tensor)
                described.append(recorded_arrays.described(values, own, with_values=self._with_values))
                slots[id(tensor)] = Slot(len(described) - 1, recorded_arrays.slot_dtype(own, dtype), strides_of(tensor))
            return slots[id(tensor)]

        call = encode(plain((list(args), dict(kwargs)), leaf))
        text = json.dumps([dtype, call, [[array.dtype, array.shape] for array in described]], separators=(",", ":"))
        if len(text) > MOST_TEXT:
            raise UnfreezableError(f"its arguments beside arrays have more than {MOST_TEXT:,} characters")
        return {
            "name": f"{dtype}-{hashlib.sha256(text.encode()).hexdigest()[:8]}",
            "dtype": dtype,
            "call": call,
            "arrays": [array.written for array in described],
        }

    def _watch_backward(self, call: _Call, args: Sequence[Any], kwargs: Mapping[str, Any], result: Any) -> None:
        """Have the call's node of the graph say when the program goes backward through it."""
        results = list(tensors_in(result))
        node = next((tensor.grad_fn for tensor in results if tensor.grad_fn is not None), None)
        if node is None:
            return
        call.hooks += 1
        call.may_differentiate = call.hooks < MOST_HOOKS
        given = list(tensors_in((args, kwargs)))
        wanted = [place for place, tensor in enumerate(given) if tensor.requires_grad]
        weights = [
            recorded_arrays.weight(tuple(tensor.shape), dtype_of(tensor)).written if tensor.requires_grad else None
            for tensor in results
        ]

        def went(_: Any) -> None:
            if not call.is_differentiated and self._is_on:
                call.is_differentiated, call.may_differentiate = True, False
                self._book.add(call.entry, {"gradient": {"wanted": wanted, "results": weights}})

        if wanted:
            node.register_prehook(went)

    def _cross(self, last: str, name: str | None) -> None:
        self._book.cross(name or last, "to_host" if last in READS else "to_device", self._site())

    def _site(self) -> Site:
        return self._sites.of(sys._getframe(2))

    def _name(self, func: Any) -> tuple[str, str | None]:
        """The last part of a function's name, and the public name; None if it has none."""
        found = resolve_name(func) or getattr(func, "__name__", type(func).__name__)
        is_noted = found.rpartition(".")[2] in READS
        name = public_name(func) if is_noted or func in recordable() else None
        last = (name or found).rpartition(".")[2]
        self._names[func] = last, name
        return last, name


class _New:
    """Stands for what was not met yet."""


_NEW: Any = _New()


def _key(values: Iterable[Any]) -> Key:
    """The part of arguments that tells calls apart: of an array its form, of a float only that it is one.

    Flat, since it is made for every call. Each kind has a fixed number of members, so that no two keys are mistaken.
    Raises ``RuntimeError`` for an array without strides.
    """
    key: list[Any] = []
    for value in values:
        kind = type(value)
        if kind is _Tensor or kind is _Parameter:
            key += kind, value.dtype, value.shape, value.stride()
        elif kind in _BY_VALUE:
            key += kind, value
        elif kind is tuple or kind is list or kind is torch.Size:
            key += kind, len(value), _key(value) if len(value) <= MOST_MEMBERS else None
        elif kind is dict:
            key += kind, tuple(value), _key(value.values())
        elif kind is slice:
            key += kind, _key((value.start, value.stop, value.step))
        elif isinstance(value, torch.Tensor):
            key += kind, value.dtype, value.shape
        else:
            key.append(kind)
    return tuple(key)


def _carries(last: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """Whether a call brings an array to a device that it names."""
    return last == "cuda" or (last in _CARRIERS and _names_device((*args, *kwargs.values())))


def _names_device(values: Sequence[Any]) -> bool:
    return any(isinstance(value, torch.device) or (isinstance(value, str) and value == "cpu") for value in values)


def _distinct(args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
    """Every array of a call once, in the order of their slots."""
    return list({id(tensor): tensor for tensor in tensors_in((args, kwargs))}.values())


def _content(tensor: Any) -> tuple[int | None, int]:
    """Differs after a change: torch's own count of changes, which some kernels leave as it is, and a checksum."""
    try:
        values, _ = numpy_of(tensor)
        checksum = zlib.crc32(values.tobytes())
    except Exception:
        checksum = 0
    try:
        return int(tensor._version), checksum
    except RuntimeError:
        return None, checksum


def _case_dtype(dtypes: Sequence[str]) -> str:
    """That of the first floating array, else of the first complex one."""
    for kind in ("float", "complex"):
        for dtype in dtypes:
            if kind in dtype:
                return dtype
    return "float32"


def _is_written(result: Any) -> bool:
    """Whether all that a call returns can be compared."""
    if isinstance(result, (list, tuple)):
        return all(map(_is_written, result))
    if isinstance(result, Mapping):
        return all(map(_is_written, result.values()))
    return result is None or isinstance(result, (bool, int, float, complex, str, torch.Tensor))
