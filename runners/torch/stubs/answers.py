"""The results that stubs of CUDA's libraries return on a machine without NVIDIA's driver.

Importing torch, asking whether CUDA is available and ending a process call some symbols. Without a driver, CUDA's
runtime library returns an error for these symbols, and its stub does the same. Other symbols are called only after a
device was found. The numbers are those of the enumeration ``cudaError`` of the CUDA runtime API.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Union


@dataclass(frozen=True)
class Number:
    """An integer, or a null pointer."""

    value: int


@dataclass(frozen=True)
class Zero:
    """Returns success, and writes a zero to the ``int`` that the first argument points to."""


@dataclass(frozen=True)
class TextPointer:
    """Returns a pointer to a text."""

    text: str


Answer = Union[Number, Zero, TextPointer]

NO_DRIVER = Number(35)
"""``cudaErrorInsufficientDriver``, which CUDA's runtime returns without a driver for everything that needs one."""
_RUNTIME = re.compile(r"libcudart\.so\..*")
_REGISTERING = re.compile(r"__cuda(Register|Unregister|Init).*")
"""CUDA functions that are called while a library with kernels is loaded and unloaded. Without a driver they do
nothing."""
_OTHERWISE: dict[str, Answer] = {
    "cudaDriverGetVersion": Zero(),
    "cudaGetErrorName": TextPointer("cudaErrorInsufficientDriver"),
    "cudaGetErrorString": TextPointer("CUDA driver version is insufficient for CUDA runtime version"),
    "cudaGetLastError": Number(0),
    "cudaPeekAtLastError": Number(0),
}


def answers(soname: str, symbols: Iterable[str]) -> dict[str, Answer]:
    """Return the results for the symbols of a library. Symbols that get no result here must not be called."""
    if not _RUNTIME.fullmatch(soname):
        return {}
    return {
        symbol: Number(0) if _REGISTERING.fullmatch(symbol) else _OTHERWISE.get(symbol, NO_DRIVER) for symbol in symbols
    }
