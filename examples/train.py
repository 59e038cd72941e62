"""A small training, to be recorded: `portolan assess --run "python examples/train.py --steps 2" --on torch/xla`."""

from __future__ import annotations

import argparse

import torch
import torch.nn.functional as F
from torch import nn


class Classifier(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.GELU())
        self.head = nn.Linear(8 * 4 * 4, 10)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        pooled = F.adaptive_avg_pool2d(self.features(images), 4)
        return self.head(F.dropout(pooled.flatten(1), 0.1, self.training))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=2)
    steps = parser.parse_args().steps
    torch.manual_seed(0)
    model = Classifier()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for step in range(steps):
        images, labels = torch.randn(16, 1, 12, 12), torch.randint(0, 10, (16,))
        scores = model(images)
        loss = F.cross_entropy(scores, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        wrong = torch.nonzero(scores.argmax(1) != labels)
        print(f"step {step}: loss {loss.item():.3f}, {len(wrong)} wrong")


if __name__ == "__main__":
    main()
