"""Proof of placement on torch: the operations that a device executed, and those that the host executed instead.

The devices of an operation's arrays do not show a fallback: a kernel of the device may copy its arrays to the host,
compute there and copy the result back. So the watch follows each operation into its kernel. Inside a kernel, a copy of
an array to the host is a fallback. So the watch detects torch's own kernel for operations that the device lacks, and
any fallback in a kernel that is written with torch. ``transfers.py`` judges values that the call itself moves to the
host.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from runners.suite.device import Proof, Unproven
from runners.suite.host_work import Elsewhere
from runners.suite.placement import HOST_ARRAYS
from runners.torch.placement.transfers import MOVES, ROOM, VIEWS, Transfers, tensors

_WITHOUT_KERNEL = frozenset({"detach", "alias"})
"""Operations that only make another handle of the same array. Torch itself calls these operations while a watch is
active, so following them would never end."""

_BELOW = torch._C._dispatch_keyset_full_after(torch._C.DispatchKey.Python)
"""The dispatch keys of kernels. Torch calls a watch through the key above these keys."""
_COMPOSITE = (
    "CompositeExplicitAutogradNonFunctional",
    "CompositeExplicitAutograd",
    "CompositeImplicitAutograd",
)
"""Dispatch keys under which an operation is composed of other operations, on any device."""


class Watched(Protocol):
    """The properties of a device that the watch needs."""

    watches_kernels: bool

    @property
    def handle(self) -> torch.device: ...

    def on_device(self, device: str) -> bool: ...


class DispatchWatch(TorchDispatchMode):  # type: ignore[misc]
    """Watches every operation and its arrays. Operations that ran on the host instead of the device are recorded in a
    proof."""

    def __init__(self, device: Watched, proof: Proof, transfers: Transfers | None = None) -> None:
        super().__init__()
        self.doubts: set[Unproven] = set()
        """The reasons why some operations could not be followed to the place where they ran."""
        self.executed = 0
        """The number of operations that the device's own kernels computed."""
        self.transfers = transfers or Transfers(device.on_device)
        self._device = device
        self._proof = proof
        self._kernel_of: str | None = None
        """The operation whose kernel is running. Operations that are dispatched meanwhile come from this kernel."""
        self._copied = False
        """Whether this kernel has copied an array to the host."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None) -> Any:
        kwargs = kwargs or {}
        if self._kernel_of is not None:
            return self._within_kernel(func, args, kwargs)
        own_tensors = list(tensors((args, kwargs)))
        if _name(func) in MOVES:
            result = func(*args, **kwargs)
            self.transfers.note_move(func._schema.name, (args, kwargs), result)
            return result
        if not (own_tensors or self._is_made_there(kwargs)):
            return func(*args, **kwargs)
        result = self._follow(func, args, kwargs) if self._device.watches_kernels else func(*args, **kwargs)
        self.transfers.note_operation(func._schema.name, (args, kwargs), result)
        if own_tensors and _name(func) not in VIEWS:
            devices = {str(tensor.device) for tensor in (*own_tensors, *tensors(result)) if tensor.dim() > 0}
            self._proof.devices |= devices
            if not all(map(self._device.on_device, devices)):
                self.transfers.record.add(Elsewhere(f"{func._schema.name}{HOST_ARRAYS}"))
        return result

    def _follow(self, func: Any, args: Any, kwargs: Mapping[str, Any]) -> Any:
        """Run an operation and watch its kernel. Return its result."""
        self._kernel_of, self._copied = func._schema.name, False
        try:
            result = self._in_kernel(func, args, kwargs)
        finally:
            operation, self._kernel_of = self._kernel_of, None
        if self._copied:
            self.transfers.record.add(Elsewhere(operation))
        return result

    def _within_kernel(self, func: Any, args: Any, kwargs: Mapping[str, Any]) -> Any:
        """Run an operation that a kernel calls. If it moves the values of a device array to the host, this is
        recorded."""
        result = self._call(func, args, kwargs)
        self._copied |= self._goes_to_host((args, kwargs), result, arrays=True)
        # A single number may be all of the kernel's input, or only decide what the kernel does.
        if not self._copied and self._goes_to_host((args, kwargs), result, arrays=False):
            self.doubts.add(Unproven.number_in_kernel)
        return result

    def _goes_to_host(self, inputs: Any, results: Any, *, arrays: bool) -> bool:
        """Whether arrays (or single numbers) that were on the device are on the host in the results."""
        there, back = (
            [self._device.on_device(str(tensor.device)) for tensor in tensors(tree) if (tensor.dim() > 0) is arrays]
            for tree in (inputs, results)
        )
        return any(there) and not all(back)

    def _call(self, func: Any, args: Any, kwargs: Mapping[str, Any]) -> Any:
        """Follow the operation into its kernel, unless this cannot show anything new."""
        on_its_way = self._copied or _name(func) in MOVES | _WITHOUT_KERNEL
        from_nothing = next(tensors((args, kwargs)), None) is None and not self._is_made_there(kwargs)
        if on_its_way or from_nothing:
            return func(*args, **kwargs)
        return self._in_kernel(func, args, kwargs)

    def _is_made_there(self, kwargs: Mapping[str, Any]) -> bool:
        """Whether an operation creates an array on the device from numbers."""
        device = kwargs.get("device")
        return device is not None and torch.device(device).type == self._device.handle.type

    def _in_kernel(self, func: Any, args: Any, kwargs: Mapping[str, Any]) -> Any:
        """Call the kernel that torch would call, with the watch active inside of the kernel. Torch itself turns a mode
        off while it calls the mode."""
        keys = _keys(args, kwargs)
        if keys.has(torch._C.DispatchKey.Python):
            # The array's Python class decides how the operation runs.
            self.doubts.add(Unproven.tensor_subclass)
            return func(*args, **kwargs)
        with self:
            result = func.redispatch(keys & _BELOW, *_with_tensors(func, args), **kwargs)
        if not self._copied and self._is_boxed(func):
            # The device's general kernel may work on the device, or copy arrays in its own way.
            self.doubts.add(Unproven.one_kernel)
        self.executed += self._computes(func)
        return result

    def _computes(self, func: Any) -> bool:
        """Whether the operation has a kernel of the device and computes something. Views and uninitialized memory do
        not count."""
        return self._has_kernel(func, self._key()) and not func.is_view and _name(func) not in ROOM

    def _is_boxed(self, func: Any) -> bool:
        """Whether the device has no kernel of its own for the operation, and passes it to its general kernel."""
        key = self._key()
        return torch._C._dispatch_has_backend_fallback(getattr(torch._C.DispatchKey, key)) and not any(
            self._has_kernel(func, own) for own in (key, *_COMPOSITE)
        )

    def _has_kernel(self, func: Any, key: str) -> bool:
        return bool(torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), key))

    def _key(self) -> str:
        return str(torch._C._dispatch_key_for_device(self._device.handle.type))


def _name(func: Any) -> str:
    return str(func._schema.name).partition("::")[2]


def _keys(args: Any, kwargs: Mapping[str, Any]) -> Any:
    """Return the dispatch keys of an operation's arrays. If the operation creates an array on the device, return the
    keys of the device."""
    keys = torch._C.DispatchKeySet(torch._C.DispatchKey.Undefined)
    for tensor in tensors((args, kwargs)):
        keys |= torch._C._dispatch_keys(tensor)
    if keys.raw_repr() == 0 and kwargs.get("device") is not None:
        key = torch._C._dispatch_key_for_device(torch.device(kwargs["device"]).type)
        keys |= torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, key))
    return keys


def _with_tensors(func: Any, args: Any) -> tuple[Any, ...]:
    """Return the arguments in the form that the kernel expects. Torch converts a number to a tensor where a kernel
    expects a tensor."""
    tensor = next(tensors(args), None)
    return tuple(
        torch.tensor(argument, dtype=None if tensor is None else torch.result_type(tensor, argument))
        if isinstance(argument, bool | int | float | complex) and isinstance(parameter.type, torch._C.TensorType)
        else argument
        for argument, parameter in zip(args, func._schema.arguments)
    )
