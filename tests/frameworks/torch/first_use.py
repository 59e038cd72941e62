"""Torch looks up some of its own functions once and caches them. Here the first lookup happens while these functions
are watched.

Run in a separate process, because each process caches them once.
"""

from __future__ import annotations

from typing import Any

import torch

from runners.torch.placement.methods import watched_methods
from runners.torch.placement.transfers import Transfers


def plus(x: torch.Tensor) -> torch.Tensor:
    return x + torch.tensor([1.0]) + x[0].item()


def use() -> list[Any]:
    with torch.device("meta"):
        device = torch.tensor([1.0]).device
    script_result = torch.jit.script(plus)(torch.ones(2)).tolist()
    return [str(device), script_result, torch.overrides.is_tensor_method_or_property(torch.Tensor.to)]


def main() -> None:
    with watched_methods(Transfers(lambda device: False)):
        first = use()
    print(first == use(), *use())
