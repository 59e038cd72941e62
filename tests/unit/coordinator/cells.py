"""Cells of the matrix for tests. Every figure that a test does not set is null or 0."""

from __future__ import annotations

from typing import Any, Literal

from coordinator.figures.cell import Figures
from coordinator.figures.counting import ANYWHERE, ON_DEVICE, Counts
from coordinator.results.models import Cell
from coordinator.targets.models import Target

CELL: dict[str, Any] = {
    "campaign_id": 1,
    "framework": "torch",
    "module": "torch",
    "function": "torch.cat",
    "target_id": 1,
    "host_only": False,
    **{name: 0 for name, field in Figures.model_fields.items() if field.is_required() and field.annotation is int},
}


def counts(verdict: str, passes: int, total: int, cause: str | None = None, *, unknown: int = 0) -> Counts:
    return Counts(verdict, passes, total - passes, total, unknown, cause)


def values(anywhere: Counts, on_device: Counts | Literal["alike"] | None = "alike", **figures: Any) -> dict[str, Any]:
    """The values of a cell. If ``on_device`` is None, the function never uses a device."""
    by_rule = {ANYWHERE.name: anywhere, ON_DEVICE.name: anywhere if on_device == "alike" else on_device}
    counts_by_rule = {name: of for name, of in by_rule.items() if of is not None}
    return {**CELL, "counts": counts_by_rule, "host_only": on_device is None, **figures}


def cell(anywhere: Counts, on_device: Counts | Literal["alike"] | None = "alike", **figures: Any) -> Cell:
    return Cell.model_validate(values(anywhere, on_device, **figures))


def target(id: int, device: str, framework: str = "torch") -> Target:
    """The target of a column of cells."""
    return Target(
        id=id,
        framework=framework,
        version="2.9.0",
        device=device,
        device_class="cpu",
        hardware="a host",
        environment="e",
        simulated=False,
        notes=(),
        suite="paper",
        suite_revision="r",
    )
