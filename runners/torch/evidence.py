"""Finds the operation at which a torch call fails, and the kernels for it in torch's dispatch table.

A mode records every operation when it is dispatched. The operation that raises an error is the one at which the call
fails. The table shows whether a device has a kernel at all. It does not show for which dtypes, because a kernel checks
them when it runs. So the operation is run again with its arrays in other dtypes. If the device passes the operation to
the host for a dtype, it has no kernel for this dtype.
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
"""Dispatch keys under which an operation is composed of other operations, on any device."""
TRIED = (torch.float32, torch.float64, torch.int64, torch.complex64, torch.bool, torch.float16, torch.bfloat16)
MAX_ELEMENTS = 1 << 16
"""The maximum number of elements of an array. Operations on larger arrays are not tried again, because that could take
long or need too much memory."""


class _Noting:
    """Records the innermost call that raises an error. A later call that returns clears the record."""

    failed: tuple[Any, Any, Mapping[str, Any]] | None = None

    def call_and_note(self, func: Any, args: Any, kwargs: Mapping[str, Any]) -> Any:
        self.failed = None
        try:
            return func(*args, **kwargs)
        except BaseException:
            self.failed = self.failed or (func, args, kwargs)
            raise


class _Functions(_Noting, TorchFunctionMode):  # type: ignore[misc]
    """Records the torch function that raises an error. This record is used if the function dispatches no operation."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None) -> Any:
        return self.call_and_note(func, args, kwargs or {})


class _Operations(_Noting, TorchDispatchMode):  # type: ignore[misc]
    """Records the operation that raises an error."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None) -> Any:
        return self.call_and_note(func, args, kwargs or {})


def failing(
    call: Callable[[], object], device: torch.device, passed_to_host: Callable[[], int] = lambda: 0
) -> Operation | None:
    """Return the operation at which ``call`` fails on the device, or the torch function that failed before it
    dispatched one.

    ``passed_to_host`` returns the number of operations that the device has passed to the host so far.
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
    """Yield the dtypes in which the device computes the operation. Each trial replaces the dtype of the operation's
    first array, wherever this dtype occurs in the arguments."""
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
        except Exception:  # the operation does not work in this dtype
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
