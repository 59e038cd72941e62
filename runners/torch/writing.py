"""Writes a call as data. Arrays become slots, and torch's own values are written by their names.

Freezing and recording use the same format. ``frozen.py`` makes the call from it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from runners.errors import UnfreezableError
from runners.suite.frozen import Named


def dtype_of(tensor: torch.Tensor) -> str:
    """Return the name of an array's dtype. Raise ``UnfreezableError`` unless the array is dense, not quantized and on
    the CPU."""
    if tensor.layout is not torch.strided or tensor.is_quantized or tensor.is_nested or tensor.device.type != "cpu":
        raise UnfreezableError(
            "a tensor that is not a plain one of the host: sparse, nested, quantized or without data"
        )
    return str(tensor.dtype).removeprefix("torch.")


def numpy_of(tensor: torch.Tensor) -> tuple[np.ndarray[Any, Any], str]:
    """Return an array's values (bfloat16 as float32), and the name of its dtype."""
    dtype = dtype_of(tensor)
    host = tensor.detach().resolve_conj().resolve_neg()
    try:
        return (host.float() if dtype == "bfloat16" else host).numpy(), dtype
    except (TypeError, RuntimeError) as error:
        raise UnfreezableError(f"NumPy has no {dtype}") from error


def strides_of(tensor: torch.Tensor) -> tuple[int, ...] | None:
    """Return the strides of an array that is not contiguous; None for a contiguous array."""
    return None if tensor.is_contiguous() or tensor.is_conj() else layout_of(tensor)


def layout_of(tensor: torch.Tensor) -> tuple[int, ...]:
    """Return the strides of an array. Raise ``UnfreezableError`` if elements share memory other than along expanded
    axes."""
    spread = sorted((stride, size) for stride, size in zip(tensor.stride(), tensor.shape) if size > 1 and stride)
    reach = 1
    for stride, size in spread:
        if stride < reach:
            raise UnfreezableError("an array whose elements overlap in memory")
        reach = stride * (size - 1) + reach
    return tuple(tensor.stride())


def plain(tree: Any, leaf: Any) -> Any:
    """Return the tree with slots in place of its arrays, and names in place of torch's own values."""
    if isinstance(tree, torch.Tensor):
        return leaf(tree)
    if isinstance(tree, torch.Size):
        return Named("size", json.dumps(list(tree)))
    if isinstance(tree, torch.dtype):
        return Named("dtype", str(tree).removeprefix("torch."))
    if isinstance(tree, torch.device) or (isinstance(tree, str) and tree == "cpu"):
        return Named("device", "")
    if isinstance(tree, (torch.memory_format, torch.layout)):
        return Named("format", str(tree).removeprefix("torch."))
    if isinstance(tree, np.generic):
        return tree.item()
    if isinstance(tree, (list, tuple)):
        members = [plain(member, leaf) for member in tree]
        return members if isinstance(tree, list) else tuple(members)
    if isinstance(tree, Mapping):
        return {key: plain(member, leaf) for key, member in tree.items()}
    return tree
