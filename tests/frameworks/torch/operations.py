"""PyTorch's operations for the calls of ``tests/frameworks/common/host_work.py``."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import torch

from tests.frameworks.common.host_work import ArrayOperators


def _copied_out(x: Any) -> Any:
    room = torch.empty(x.shape)
    room.copy_(x)
    return room.numpy()


def _text(x: Any) -> Any:
    with torch._tensor_str.printoptions(precision=9):
        text = repr(x)
    numbers = re.findall(r"-?\d+\.\d*(?:e[-+]?\d+)?", text.partition("[")[2].partition("]")[0])
    return np.array([float(number) for number in numbers], "float32")


class TorchOperations(ArrayOperators):
    reads: ClassVar[dict[str, Callable[[Any], Any]]] = {
        "NumPy": lambda x: x.detach().cpu().numpy(),
        "list": lambda x: np.array(x.tolist()),
        "NumPy's own array": lambda x: np.array(x.cpu()),
        "a function of NumPy": lambda x: np.positive(x.cpu()),
        "bytes": lambda x: np.frombuffer(bytes(x.cpu().numpy()), "float32"),
        "a buffer": lambda x: np.frombuffer(x.numpy(force=True), "float32"),
        "dlpack": lambda x: np.from_dlpack(x.to("cpu")),
        "a copy into the host": _copied_out,
        "pickle": lambda x: pickle.loads(pickle.dumps(x)).cpu().numpy(),
        "text": _text,
    }

    def __init__(self, device: torch.device) -> None:
        self._device = device

    def double(self, x: Any) -> Any:
        return x * 2

    def apart(self, x: Any) -> list[Any]:
        return list(x.unbind())

    def join(self, numbers: list[Any]) -> Any:
        return torch.stack(numbers)

    def array(self, values: Any) -> Any:
        return torch.as_tensor(np.asarray(values, "float32"), device=self._device)

    def places(self, x: Any) -> Any:
        return torch.arange(len(x), device=self._device) + (x[0] * 0).long()

    def take(self, x: Any, places: list[int]) -> Any:
        return torch.stack([x[place] for place in places])

    def elsewhere(self, x: Any) -> Any:
        return (x.cpu() * 2).to(self._device)

    def called_back(self, function: Callable[[Any], Any], x: Any) -> Any:
        return x.cpu().apply_(lambda number: float(function(number))).to(self._device)

    def gradient(self, x: Any) -> Any:
        leaf = x.detach().requires_grad_()
        return torch.autograd.grad((leaf * leaf).sum(), leaf)[0]

    def choose(self, x: Any) -> Any:
        return torch.where(x == x, 2 * x, torch.zeros_like(x))
