"""Records calls on torch. A function mode sees every public call that the user makes.

No dispatch mode is used. A dispatch mode would be called for every operation inside of each call and in the backward
pass, and these operations have no public names under which they could be charted. A hook on the call's node of the
graph shows that the program makes a backward pass through the call.

If the target is known, arrays claim to be on it when code outside of torch's own Python asks (``spoken_device.py``). So
the program takes the same branches as on the target. If such a branch chooses a dtype for a call that the CPU rejects,
the call is recorded with this dtype and made in float32, so that the program continues.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType, MethodType
from typing import Any

import torch
from torch.overrides import TorchFunctionMode, resolve_name
from torch.utils._python_dispatch import _disable_current_modes

from runners.suite.device import Device
from runners.suite.frozen import Slot
from runners.suite.recording import arrays as recorded_arrays
from runners.suite.recording.arrays import RecordedArray
from runners.suite.recording.book import Book
from runners.suite.recording.recorder import Caller, ClaimedDevice, Options, Recorder, RecordingOptions
from runners.suite.recording.sites import Sites
from runners.suite.recording.watcher import Watcher
from runners.torch.placement.threads import entered_by_threads
from runners.torch.recordable import NOT_COMPUTING, READS, public_name, recordable
from runners.torch.spoken_device import SpokenDevice, spoken_device
from runners.torch.writing import dtype_of, numpy_of, plain, strides_of

FOLDERS = (os.path.dirname(os.path.abspath(torch.__file__)),)
"""Folders whose code does not belong to a user."""
OUT = "it writes into an array that it is given as out"
ON_HOST = "without a device it makes an array on the host, whatever the target"
MOST_FUNCTIONS = 10_000
"""The maximum number of functions that are cached; torch itself has 1,400."""
OWN_CLASS = "an array of a class of its own"

_Tensor = torch.Tensor
_BACKWARD = torch.Tensor.backward
_DEVICE = torch.device
_GETTER = "__get__"
_PLAIN_CLASSES = (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer)


@contextmanager
def recording(book: Book, folder: str, options: RecordingOptions) -> Iterator[Callable[[], None]]:
    """Record the calls of this thread, and of threads that it starts, in the book. Yield a function that stops the
    recording."""
    spoken = spoken_device(options.target, FOLDERS)
    recorder = Recorder(book, Sites(folder, FOLDERS), TorchRecordingDialect(spoken), options.with_values)
    callers = _Callers(recorder.caller, spoken)
    callers[_BACKWARD] = _watched_backward(callers)
    with entered_by_threads(lambda: _Mode(callers)), _Mode(callers):
        yield recorder.stop


@contextmanager
def watching(book: Book, folder: str, device: Device) -> Iterator[Callable[[], None]]:
    """Watch the calls of a program on the device. Arrays are created there unless the program names a device. Yield a
    function that stops the watching."""
    unwatched_names = READS | (NOT_COMPUTING - {"backward"})
    watcher = Watcher(book, Sites(folder, FOLDERS), device, unwatched_names)
    callers = _Callers(watcher.caller)
    device.prime()
    torch.set_default_device(device.handle)
    try:
        with entered_by_threads(lambda: _Mode(callers)), _Mode(callers):
            yield watcher.stop
    finally:
        torch.set_default_device(None)


class _Mode(TorchFunctionMode):  # type: ignore[misc]
    """Passes each call of a torch function in this thread to the recorder's wrapper of this function."""

    def __init__(self, callers: _Callers) -> None:
        super().__init__()

        def hand_over(
            mode: TorchFunctionMode, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
        ) -> Any:
            return callers[func](args, kwargs)

        # Torch looks this attribute up for every call, and finds it faster on the object than in the class.
        self.__torch_function__ = MethodType(hand_over, self)


class _Callers(dict[Any, Caller]):
    """Maps each torch function to its *caller*: the wrapper that calls this function.

    The callers of all functions with a public name are cached. For other functions only the first callers are cached,
    because a program may pass a new function to torch in each call.
    """

    def __init__(self, caller: Callable[[Any, str, str | None], Caller], spoken: SpokenDevice | None = None) -> None:
        """``spoken`` is the device that arrays claim to be on."""
        super().__init__()
        self._caller = caller
        self._spoken = spoken

    def __missing__(self, func: Any) -> Caller:
        last, name = _names_of(func)
        caller = self._caller_of(func, last, name)
        if len(self) < MOST_FUNCTIONS or name is not None:
            self[func] = caller
        return caller

    def _caller_of(self, func: Any, last: str, name: str | None) -> Caller:
        if func is _DEVICE or last == _GETTER:
            # Reading an array's device is not recorded as a call.
            caller = _plain_caller(func)
            return caller if self._spoken is None else self._spoken.caller(func, caller)
        return self._caller(func, last, name)


def _plain_caller(func: Any) -> Caller:
    def make_call(args: Sequence[Any], kwargs: Options) -> Any:
        return func(*args, **kwargs) if kwargs else func(*args)

    return make_call


def _names_of(func: Any) -> tuple[str, str | None]:
    """Return the name of a function after the last dot, and its public name (None if it has no public name)."""
    if func is _BACKWARD:
        return "backward", "torch.Tensor.backward"
    full_name = resolve_name(func) or getattr(func, "__name__", type(func).__name__)
    is_noted = full_name.rpartition(".")[2] in READS
    name = public_name(func) if is_noted or func in recordable() else None
    return (name or full_name).rpartition(".")[2], name


def _watched_backward(callers: _Callers) -> Caller:
    """Return the caller for backward passes, with which calls inside the pass are seen.

    A mode does not see calls that are made inside of a mode. So the pass is started with a torch function for which no
    mode is called. Then the user's functions in the backward pass are seen.
    """

    def go_backward(args: Sequence[Any], kwargs: Options) -> None:
        with _Mode(callers):
            _backward(*args, **(kwargs or {}))

    return go_backward


def _backward(
    tensor: Any, gradient: Any = None, retain_graph: Any = None, create_graph: bool = False, inputs: Any = None
) -> None:
    torch.autograd.backward(tensor, gradient, retain_graph, create_graph, inputs=inputs)


class TorchRecordingDialect:
    """The torch-specific part of recording: tensors, and how torch shows changes and gradients."""

    quick_layouts: Mapping[type, Callable[[Any], Any]] = MappingProxyType(
        {torch.Tensor: torch.Tensor.is_contiguous, torch.nn.Parameter: torch.Tensor.is_contiguous}
    )
    by_value = frozenset({torch.dtype, torch.device, torch.memory_format, torch.layout})
    reads = READS
    not_computing = NOT_COMPUTING
    carriers = frozenset({"to", "cuda", "tensor", "as_tensor"})
    settle = None

    def __init__(self, claimed_device: ClaimedDevice | None = None) -> None:
        self.claimed_device = claimed_device

    def layout(self, array: Any) -> Any:
        return array.stride()

    def form(self, value: Any) -> Any:
        return (value.dtype, value.shape) if isinstance(value, torch.Tensor) else None

    def carries(self, last: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
        return last == "cuda" or _names_device((*args, *kwargs.values()))

    @contextmanager
    def quiet(self) -> Iterator[None]:
        with torch._C.DisableTorchFunction(), _disable_current_modes():
            yield

    def is_array(self, value: Any) -> bool:
        return isinstance(value, torch.Tensor)

    def refusal(self, arrays: Sequence[Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> str | None:
        if kwargs.get("out") is not None:
            return OUT
        if any(type(tensor) not in _PLAIN_CLASSES for tensor in arrays):
            return OWN_CLASS
        return ON_HOST if not arrays and not _names_device((*args, *kwargs.values())) else None

    def dtype_of(self, array: Any) -> str:
        return dtype_of(array)

    def describe(self, array: Any, *, with_values: bool) -> RecordedArray:
        values, own = numpy_of(array)
        return recorded_arrays.describe(values, own, with_values=with_values)

    def slot(self, array: Any, number: int, dtype: str) -> Slot:
        return Slot(number, recorded_arrays.slot_dtype(dtype_of(array), dtype), strides_of(array))

    def plain(self, tree: Any, leaf: Callable[[Any], Slot]) -> Any:
        return plain(tree, leaf)

    def content(self, array: Any) -> tuple[int | None, int]:
        """Return torch's own count of changes to the array, and a checksum of the array, because some kernels do not
        update the count."""
        try:
            values, _ = numpy_of(array)
            checksum = zlib.crc32(values.tobytes())
        except Exception:
            checksum = 0
        try:
            return int(array._version), checksum
        except RuntimeError:
            return None, checksum

    def draws(self, last: str, name: str | None) -> Callable[[], bool]:
        state = torch.default_generator.get_state()
        return lambda: not torch.equal(state, torch.default_generator.get_state())

    def may_go_backward(self, result: Any) -> bool:
        return type(result) is not _Tensor or result.grad_fn is not None

    def is_differentiated(self, array: Any) -> bool:
        return bool(array.requires_grad)

    def on_backward(self, results: Sequence[Any], went: Callable[[], None]) -> None:
        """Add a hook that calls ``went`` when the backward pass reaches the call's node of the graph."""
        node = next((tensor.grad_fn for tensor in results if tensor.grad_fn is not None), None)
        if node is not None:
            node.register_prehook(lambda _: went())


def _names_device(values: Sequence[Any]) -> bool:
    return any(isinstance(value, torch.device) or (isinstance(value, str) and value == "cpu") for value in values)
