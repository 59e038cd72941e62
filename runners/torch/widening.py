"""Converts the arguments of a call to float64. A device's result in a narrower type is compared with the CPU's result
for these arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

WIDE = {torch.float16: torch.float64, torch.bfloat16: torch.float64, torch.float32: torch.float64}
WIDE[torch.complex64] = torch.complex128


def widened(tree: Any) -> Any:
    """Return the tree with every float as float64, and every complex number as complex128."""
    return changed(tree, lambda tensor: tensor.to(WIDE.get(tensor.dtype, tensor.dtype)))


def changed(tree: Any, tensor: Callable[[Any], Any], dtype: Callable[[Any], Any] = lambda value: value) -> Any:
    if isinstance(tree, torch.Tensor):
        return tensor(tree)
    if isinstance(tree, torch.dtype):
        return dtype(tree)
    if isinstance(tree, torch.Size):
        return tree
    if isinstance(tree, (list, tuple)):
        members = [changed(member, tensor, dtype) for member in tree]
        return members if isinstance(tree, list) else tuple(members)
    if isinstance(tree, dict):
        return {key: changed(member, tensor, dtype) for key, member in tree.items()}
    return tree
