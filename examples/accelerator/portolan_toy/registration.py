"""PyTorch is told of the device: its name, its module, and what autograd asks of every device.

Since 2.10 torch lets Python register all of that. Torch 2.9 takes two of them from C++ only: a
guard and hooks, objects with a table of methods each. They are made here by copying a table
that torch has for another device, and putting our own methods in the few places that matter.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch.utils import backend_registration

NAME = "toy"
_PRIVATE_USE_1 = 20
"""c10::DeviceType's number for a device that torch does not know."""
_DEVICE = _PRIVATE_USE_1
"""A c10::Device: its type, and above that byte its index, which is 0."""
_kept: list[Any] = []
"""What C++ holds a pointer to."""


class _Module:
    """``torch.toy``: what torch asks a device's module for."""

    @staticmethod
    def is_available() -> bool:
        return True

    @staticmethod
    def is_initialized() -> bool:
        return True

    @staticmethod
    def device_count() -> int:
        return 1

    @staticmethod
    def current_device() -> int:
        return 0

    @staticmethod
    def _is_in_bad_fork() -> bool:
        return False

    @staticmethod
    def manual_seed_all(seed: int) -> None:
        from portolan_toy import kernels

        kernels.seed(seed)


def register() -> None:
    """Once a process; the first device of this kind that torch is told of is its only one."""
    if hasattr(torch, NAME):
        return
    by_python: Callable[..., None] | None = getattr(
        backend_registration, "_setup_privateuseone_for_python_backend", None
    )
    if by_python is not None:
        by_python(NAME, backend_module=_Module())
        return
    if not torch.__version__.startswith("2.9."):
        raise ImportError(
            f"portolan-toy needs torch 2.9, or one that lets Python register a device, not {torch.__version__}"
        )
    torch.utils.rename_privateuse1_backend(NAME)
    torch._register_device_module(NAME, _Module())
    _register_guard()
    _register_hooks()


def _register_guard() -> None:
    """Says which device is the current one. In the order of c10/core/impl/DeviceGuardImplInterface.h."""
    guards = (ctypes.c_void_p * (_PRIVATE_USE_1 + 1)).in_dll(
        _library("libc10.so"), "_ZN3c104impl26device_guard_impl_registryE"
    )
    # The host's guard (number 0) does nothing, which is right for us but where it speaks of the host.
    of_host = ctypes.c_void_p.from_address(guards[0]).value
    assert of_host is not None
    device, stream, pointer = ctypes.c_uint16, ctypes.c_uint64, ctypes.c_void_p
    guards[_PRIVATE_USE_1] = _object(
        of_host,
        23,
        {
            0: _method(ctypes.c_int8, lambda this: _PRIVATE_USE_1),  # type
            1: _method(device, lambda this, to: _DEVICE, device),  # exchangeDevice
            2: _method(device, lambda this: _DEVICE),  # getDevice
            # There is one stream. Behind its device C++ reads a number, which Python cannot give: it is only
            # ever compared, and where two differ an event is recorded and waited for, which does nothing.
            5: _method(stream, lambda this, of: _DEVICE, device),  # getStream
            6: _method(stream, lambda this, of: _DEVICE, device),  # getDefaultStream
            11: _method(None, lambda this, *_: None, pointer, pointer, ctypes.c_int8, ctypes.c_int),  # record
            12: _method(None, lambda this, *_: None, pointer, pointer),  # block
            14: _method(ctypes.c_int8, lambda this: 1),  # deviceCount
        },
    )


def _register_hooks() -> None:
    """Says whether the device is up. In the order of ATen/detail/AcceleratorHooksInterface.h, destructors first."""
    torch_cpu = _library("libtorch_cpu.so")
    # Of a device that no build of torch has; two words of the table stand before its methods.
    table = ctypes.addressof(ctypes.c_char.in_dll(torch_cpu, "_ZTVN2at18MAIAHooksInterfaceE"))
    hooks = _object(
        table + 2 * ctypes.sizeof(ctypes.c_void_p),
        16,
        {
            2: _method(ctypes.c_bool, lambda this: True),  # isBuilt
            3: _method(ctypes.c_bool, lambda this: True),  # isAvailable
            4: _method(ctypes.c_bool, lambda this, index: False, ctypes.c_int8),  # hasPrimaryContext: no streams
            5: _method(None, lambda this: None),  # init
            6: _method(ctypes.c_int8, lambda this: 1),  # deviceCount
            8: _method(ctypes.c_int8, lambda this: 0),  # getCurrentDevice
        },
    )
    register_hooks = torch_cpu["_ZN2at33RegisterPrivateUse1HooksInterfaceEPNS_25PrivateUse1HooksInterfaceE"]
    register_hooks.argtypes, register_hooks.restype = [ctypes.c_void_p], None
    register_hooks(hooks)


def _library(name: str) -> ctypes.CDLL:
    return ctypes.CDLL(os.path.join(os.path.dirname(torch.__file__), "lib", name))


def _method(returns: Any, function: Callable[..., Any], *arguments: Any) -> Any:
    method = ctypes.CFUNCTYPE(returns, ctypes.c_void_p, *arguments)(function)
    _kept.append(method)
    return method


def _object(copied_table: int, length: int, methods: Mapping[int, Any]) -> int:
    """The address of an object whose methods are those of a table, but for a few."""
    table = (ctypes.c_void_p * length)(*(ctypes.c_void_p * length).from_address(copied_table))
    for place, method in methods.items():
        table[place] = ctypes.cast(method, ctypes.c_void_p).value
    instance = (ctypes.c_void_p * 2)(ctypes.addressof(table), None)
    _kept.extend((table, instance))
    return ctypes.addressof(instance)
