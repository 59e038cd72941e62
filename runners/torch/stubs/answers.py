"""The answers of CUDA's libraries where there is no driver: what a call gives that is made without any device.

Loading torch, asking whether CUDA is there and ending a process call some symbols. CUDA's runtime library answers them
on a machine without NVIDIA's driver, and says that there is none; its stub does the same. A symbol that is not here is
called by nobody who has not found a device before.

Source of the numbers: the enumeration ``cudaError`` of the CUDA runtime API.
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
    """Success, and a zero in the ``int`` to which the first argument points."""


@dataclass(frozen=True)
class TextPointer:
    """A pointer to a text."""

    text: str


Answer = Union[Number, Zero, TextPointer]

NO_DRIVER = Number(35)
"""``cudaErrorInsufficientDriver``: what CUDA's runtime says of all that needs a driver, where none is installed."""
_RUNTIME = re.compile(r"libcudart\.so\..*")
_REGISTERING = re.compile(r"__cuda(Register|Unregister|Init).*")
"""Called while a library with kernels is loaded and unloaded; without a driver they do nothing."""
_OTHERWISE: dict[str, Answer] = {
    "cudaDriverGetVersion": Zero(),
    "cudaGetErrorName": TextPointer("cudaErrorInsufficientDriver"),
    "cudaGetErrorString": TextPointer("CUDA driver version is insufficient for CUDA runtime version"),
    "cudaGetLastError": Number(0),
    "cudaPeekAtLastError": Number(0),
}


def answers(soname: str, symbols: Iterable[str]) -> dict[str, Answer]:
    """The answers of a library, by symbol; one that has none is not to be called."""
    if not _RUNTIME.fullmatch(soname):
        return {}
    return {
        symbol: Number(0) if _REGISTERING.fullmatch(symbol) else _OTHERWISE.get(symbol, NO_DRIVER) for symbol in symbols
    }
