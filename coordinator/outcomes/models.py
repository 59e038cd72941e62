"""What outcomes and the matrix look like over REST."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel

Format = Literal["json", "csv", "parquet"]


class OutcomePage(BaseModel):
    """Rows of the view `outcome_rows`, in the order of job ids, each with the command that repeats it."""

    outcomes: list[dict[str, Any]]
    next: int | None
    """Pass as ``after`` to read on; null at the end."""


class Cell(BaseModel):
    """One function on one target. Verdicts are words of the study; counts are of cases."""

    verdict: Literal["success", "partial", "complete", "unknown"]
    verdict_on_device: Literal["success", "partial", "complete", "unknown"] | None
    passed: int
    failed: int
    total: int
    skipped: int
    incomplete: int
    flaky: int
    fell_back: int
    cause: str | None
    cause_on_device: str | None
    not_counted_cause: str | None
    unknown_cause: int = 0
    """Of the failed cases, those that no rule knows."""
    cold_ms: float | None = None
    steady_ms: float | None = None
    iqr_ms: float | None = None
    samples: int = 0
    ratio_to_cpu: float | None = None
    """Geometric mean over common cases of steady time here to that on the CPU of the same version."""
    ratio_cases: int = 0


class MatrixTarget(BaseModel):
    id: int
    target: str
    hardware: str
    environment: str
    revision: str
    simulated: bool
    notes: list[str]


class MatrixRow(BaseModel):
    function: str
    host_only: bool
    cells: dict[int, Cell]
    """By target id; a target without any outcome of the function yet is absent."""


class Matrix(BaseModel):
    campaign_id: int
    suite: str
    targets: list[MatrixTarget]
    functions: list[MatrixRow]
