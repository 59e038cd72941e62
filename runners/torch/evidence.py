"""The operation at which a call of torch fails, and the kernels that its dispatch table has of it.

A mode notes every operation as it is dispatched; the one that raises is the operation in flight. The table says
whether a device has a kernel at all. For which dtypes, no table says: kernels decide that as they run, so the
operation itself is tried with its arrays in other dtypes. One in which the device passes it to the host has no kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch.overrides import TorchFunctionMode, resolve_name
from torch.utils._python_dispatch import TorchDispatchMode

from protocol.enums import Kernels
from runners.suite.device import Operation
from runners.torch.placement.transfers import tensors

COMPOSITE = ("CompositeExplicitAutogradNonFunctional", "CompositeExplicitAutograd", "CompositeImplicitAutograd")
"""Under these an operation is made of other operations, on any device."""
TRIED = (torch.float32, torch.float64, torch.int64, torch.complex64, torch.bool, torch.float16, torch.bfloat16)
MAX_ELEMENTS = 1 << 16
"""An operation on larger arrays is not tried again: that could take long, or more memory than there is."""


class _Noting:
    """Notes the call that raises, innermost first; one that begins after it clears the note."""

    failed: tuple[Any, Any, Mapping[str, Any]] | None = None

    def call_and_note(self, func: Any, args: Any, kwargs: Mapping[str, Any]) -> Any:
        self.failed = None
        try:
            return func(*args, **kwargs)
        except BaseException:
            self.failed = self.failed or (func, args, kwargs)
            raise


class _Functions(_Noting, TorchFunctionMode):  # type: ignore[misc]
    """Notes the function of torch that raises, where nothing was dispatched yet."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None) -> Any:
        return self.call_and_note(func, args, kwargs or {})


class _Operations(_Noting, TorchDispatchMode):  # type: ignore[misc]
    """Notes the operation that raises."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None) -> Any:
        return self.call_and_note(func, args, kwargs or {})


def failing(
    call: Callable[[], object], device: torch.device, passed_to_host: Callable[[], int] = lambda: 0
) -> Operation | None:
    """The operation at which ``call`` fails on the device, or the function of torch that never dispatched one.

    ``passed_to_host`` counts the operations that the device has given to the host until now.
    """
    functions, operations = _Functions(), _Operations()
    try:
        with functions, operations:
            call()
    except BaseException:
        pass
    if operations.failed is not None:
        func, args, kwargs = operations.failed
        return _operation(func, args, kwargs, device, passed_to_host)
    if functions.failed is not None:
        func, args, kwargs = functions.failed
        name = resolve_name(func) or getattr(func, "__qualname__", None)
        return Operation(str(name), dtypes_of((args, kwargs))) if name else None
    return None


def _operation(
    func: Any, args: Any, kwargs: Mapping[str, Any], device: torch.device, passed_to_host: Callable[[], int]
) -> Operation:
    dtypes = dtypes_of((args, kwargs))
    key = torch._C._dispatch_key_for_device(device.type)
    if not any(torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), own) for own in (key, *COMPOSITE)):
        return Operation(func._schema.name, dtypes, Kernels.none)
    working = tuple(_works_in(func, args, kwargs, passed_to_host))
    return Operation(func._schema.name, dtypes, Kernels.other_dtypes if working else None, working)


def _works_in(func: Any, args: Any, kwargs: Mapping[str, Any], passed_to_host: Callable[[], int]) -> Iterator[str]:
    """The dtypes in which the device computes the operation, its first array's dtype and those like it changed."""
    arrays = list(tensors((args, kwargs)))
    if not arrays or sum(array.numel() for array in arrays) > MAX_ELEMENTS:
        return
    failing_dtype = arrays[0].dtype
    for dtype in TRIED:
        if dtype is failing_dtype:
            continue
        before = passed_to_host()
        try:
            func(*_cast(args, failing_dtype, dtype), **_cast(kwargs, failing_dtype, dtype))
        except Exception:  # then it does not work in this dtype
            continue
        if passed_to_host() == before:
            yield _name(dtype)


def _cast(tree: Any, failing_dtype: torch.dtype, dtype: torch.dtype) -> Any:
    if isinstance(tree, torch.Tensor):
        return tree.detach().to(dtype) if tree.dtype is failing_dtype else tree.detach()
    if isinstance(tree, torch.dtype):
        return dtype if tree is failing_dtype else tree
    if isinstance(tree, (list, tuple)):
        return type(tree)(_cast(member, failing_dtype, dtype) for member in tree)
    if isinstance(tree, dict):
        return {key: _cast(value, failing_dtype, dtype) for key, value in tree.items()}
    return tree


def dtypes_of(tree: Any) -> tuple[str, ...]:
    return tuple(_name(tensor.dtype) for tensor in tensors(tree))


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
