"""The functions on torch's tensors that the operators of the mutation score need."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from tests.frameworks.common.mutants import UNCHANGED


class _GradientOff(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, array: Any, note: Callable[[], None]) -> Any:
        context.applied = note
        return array.view_as(array)

    @staticmethod
    def backward(context: Any, gradient: Any) -> Any:
        context.applied()
        return gradient * 1.01, None


class TorchDialect:
    def values(self, array: Any) -> np.ndarray | None:
        if array.is_sparse or array.is_quantized or array.layout is not torch.strided:
            return None
        plain = array.detach().cpu().resolve_conj().resolve_neg()
        return plain.float().numpy() if plain.dtype == torch.bfloat16 else plain.numpy()

    def like(self, array: Any, values: np.ndarray) -> Any:
        wrong = torch.as_tensor(np.ascontiguousarray(values)).to(array.dtype).to(array.device).reshape(array.shape)
        return array + (wrong - array.detach()) if array.requires_grad else wrong

    def gradient_off(self, array: Any, note: Callable[[], None]) -> Any:
        return _GradientOff.apply(array, note) if array.requires_grad and not array.is_leaf else array

    def detach(self, array: Any) -> Any:
        return array.detach() if array.requires_grad and not array.is_leaf else UNCHANGED

    def copy(self, array: Any) -> Any:
        return array.detach().clone().requires_grad_(array.requires_grad)

    def clobber(self, array: Any) -> bool:
        if not (array.is_floating_point() or array.is_complex()) or not array.numel() or array.is_sparse:
            return False
        array.data.add_(1)
        return True


DIALECT = TorchDialect()
