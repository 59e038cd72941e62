"""What a team runs: a layer and a function of its own, in PyTorch."""

from __future__ import annotations

import torch


class RMSNorm(torch.nn.Module):
    """Divides each row by its root mean square, and weighs its columns."""

    def __init__(self, width: int, epsilon: float = 1e-6) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(width))
        self.epsilon = epsilon

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        scale = torch.rsqrt(rows.square().mean(-1, keepdim=True) + self.epsilon)
        return rows * scale * self.weight


def tokens_of(choices: torch.Tensor, expert: int) -> torch.Tensor:
    """The positions of the tokens that chose an expert."""
    return torch.nonzero(choices == expert).squeeze(-1)
