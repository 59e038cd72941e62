"""The toy's memory: NumPy arrays that PyTorch holds as tensors of the device, and nothing copies.

A tensor is made through DLPack, which has a word for devices like this one. It is an ordinary
tensor with storage, so that PyTorch itself tracks views, versions and gradients.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

_OF_TORCH: dict[torch.dtype, type[np.generic]] = {
    torch.bool: np.bool_,
    torch.uint8: np.uint8,
    torch.int8: np.int8,
    torch.int16: np.int16,
    torch.int32: np.int32,
    torch.int64: np.int64,
    torch.float16: np.float16,
    torch.float32: np.float32,
    torch.float64: np.float64,
    torch.complex64: np.complex64,
    torch.complex128: np.complex128,
}
_EXTENSION_DEVICE = 12
"""DLPack's number for a device that is none of those it knows; torch reads it as PrivateUse1."""
_DEVICE_OFFSET = ctypes.sizeof(ctypes.c_void_p)
"""Where a DLManagedTensor names its device: behind the pointer to the data."""

_pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.restype, _pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


def dtype_of(dtype: torch.dtype) -> np.dtype[Any]:
    """How the device stores it. It has no bfloat16, as NumPy has none."""
    if dtype not in _OF_TORCH:
        raise TypeError(f"dtype {dtype} is not supported on the toy device")
    return np.dtype(_OF_TORCH[dtype])


def allocate(shape: Sequence[int], strides: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
    """A tensor on the device with nothing in it yet. Strides count elements."""
    stored = dtype_of(dtype)
    extent = _extent(shape, strides)
    if extent == 0:
        return tensor(np.empty(tuple(shape), stored))
    steps = [step * stored.itemsize for step in strides]
    return tensor(np.ndarray(tuple(shape), stored, np.empty(extent, stored), strides=steps))


def tensor(array: np.ndarray[Any, Any]) -> torch.Tensor:
    """The array as a tensor on the device; both are the same memory."""
    capsule = array.__dlpack__()
    at = _pointer_of(capsule, b"dltensor")
    ctypes.c_int32.from_address(at + _DEVICE_OFFSET).value = _EXTENSION_DEVICE
    return torch.utils.dlpack.from_dlpack(capsule)


def array(of: Any) -> np.ndarray[Any, Any]:
    """What a tensor of the device holds, as the device sees it; both are the same memory.

    Python's numbers, and single values on the host, may stand beside it as everywhere in torch.
    """
    if not isinstance(of, torch.Tensor):
        return np.asarray(of)
    if of.device.type == "cpu" and of.dim() == 0:
        return of.detach().resolve_conj().numpy()
    if of.device.type != "toy":
        raise RuntimeError(f"expected a tensor on the toy device, got one on {of.device}")
    stored = dtype_of(of.dtype)
    extent = _extent(of.shape, of.stride())
    if extent == 0:
        return np.empty(tuple(of.shape), stored)
    memory = (ctypes.c_char * (extent * stored.itemsize)).from_address(of.data_ptr())
    return np.ndarray(tuple(of.shape), stored, memory, strides=[step * stored.itemsize for step in of.stride()])


def _extent(shape: Sequence[int], strides: Sequence[int]) -> int:
    """How many elements lie between the first and the last, both counted."""
    if not all(shape):
        return 0
    return 1 + sum((length - 1) * step for length, step in zip(shape, strides, strict=True))
