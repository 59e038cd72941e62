"""How a mutant alters torch's tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from tests.frameworks.common.mutants import STEP, UNCHANGED

ANOTHER_DTYPE: Mapping[str, str] = {
    "float64": "float32",
    "float32": "float64",
    "float16": "float32",
    "bfloat16": "float32",
    "complex64": "complex128",
    "complex128": "complex64",
    "bool": "uint8",
    "int64": "int32",
}


class TorchArrays:
    functions = ()

    def is_array(self, value: Any) -> bool:
        return isinstance(value, torch.Tensor)

    def off(self, value: Any) -> Any:
        array = value.to_dense() if value.is_sparse else value
        if not array.numel():
            return UNCHANGED
        flat = array.detach().reshape(-1)
        if array.dtype == torch.bool:
            return _with_element(array, 0, ~flat[0])
        if not (array.is_floating_point() or array.is_complex()):
            return _with_element(array, 0, flat[0] + 1)
        sizes = torch.where(flat.isfinite(), flat.abs().double(), -1.0)
        largest = int(sizes.argmax())
        if sizes[largest] < 0:
            return UNCHANGED
        step = STEP.get(_name(array), 0.01)
        return _with_element(array, largest, flat[largest] * (1 + step) if sizes[largest] else step)

    def retype(self, array: Any) -> Any:
        return array.to(getattr(torch, ANOTHER_DTYPE.get(_name(array), "int64")))

    def differ(self, argument: Any, result: Any) -> bool:
        alike = argument.shape == result.shape and argument.dtype == result.dtype
        return alike and not torch.equal(argument.nan_to_num(0.5), result.nan_to_num(0.5))

    def make_unfilled(self, array: Any) -> Any:
        return array.zero_() if array.count_nonzero() else UNCHANGED

    def load_dice(self, array: Any) -> Any:
        if array.numel() < 10:
            return UNCHANGED
        array.view(-1)[::10] = array.min()
        return array

    def clobber(self, array: Any) -> bool:
        if not self.is_array(array) or array.layout is not torch.strided or not array.numel():
            return False
        first = array.data[(0,) * array.dim()]
        try:
            # Past autograd, which would tell of it.
            first.fill_(0 if bool(first != 0) else 1)
        except RuntimeError:
            # Within a transformation of torch.func there are no values to write over.
            return False
        return True

    def zero(self, array: Any) -> Any:
        if not array.numel() or not bool(array.detach().ne(0).any()):
            return UNCHANGED
        return array.masked_fill(torch.ones_like(array, dtype=torch.bool), 0)

    def map_container(self, value: Any, change: Callable[[Any], Any]) -> Any:
        return UNCHANGED


def _name(array: torch.Tensor) -> str:
    return str(array.dtype).removeprefix("torch.")


def _with_element(array: torch.Tensor, index: int, value: Any) -> torch.Tensor:
    """A copy with one element changed. Autograd still follows it."""
    mask = torch.zeros(array.numel(), dtype=torch.bool, device=array.device)
    mask[index] = True
    return torch.where(mask.reshape(array.shape), torch.as_tensor(value, dtype=array.dtype), array)


ARRAYS = TorchArrays()
