"""What the matrix is made of, as pages and comparisons read it."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, NamedTuple

from pydantic import BaseModel

Counting = Literal["verdict", "device"]
"""By which verdict a query is judged: ``verdict``, where a fallback passes, or ``verdict_on_device``."""


class Key(NamedTuple):
    """A row of the matrix."""

    framework: str
    module: str
    function: str


class Cell(BaseModel):
    """One function on one target in one campaign. Counts are of cases."""

    campaign_id: int
    framework: str
    module: str
    function: str
    target_id: int
    host_only: bool
    verdict: str
    verdict_on_device: str | None
    passed: int
    failed: int
    total: int
    passed_on_device: int | None
    total_on_device: int | None
    unknown_placement: int | None
    """Cases that passed without proof of where: in no count on the device."""
    skipped: int
    incomplete: int
    flaky: int
    fell_back: int
    cause: str | None
    cause_on_device: str | None
    not_counted_cause: str | None
    cold_ms: float | None
    steady_ms: float | None
    iqr_ms: float | None
    ratio_to_cpu: float | None
    """Geometric mean over common cases of steady time here to that on the CPU of the same version."""
    ratio_cases: int | None


class Column(BaseModel):
    """A target of the matrix."""

    id: int
    target: str
    framework: str
    version: str
    device: str
    hardware: str
    environment: str
    suite_revision: str
    simulated: bool
    sentences: list[str]
    """What must stand beside any figure of it."""


class Made(BaseModel):
    """From how many of the campaign's outcomes the matrix was added up, and when."""

    outcomes: int
    of: int
    """Outcomes there are by now."""
    at: datetime | None
    """None: from none yet."""
    current: bool
    """Nothing has come in, and no cause has been named anew, since."""


class Module(BaseModel):
    """Some neighbouring rows of the matrix."""

    framework: str
    name: str
    functions: int
    first: int
    """How many rows of the whole stand before its first."""


class Row(BaseModel):
    framework: str
    module: str
    function: str
    host_only: bool
    cells: dict[int, Cell]
    """By target; a target without any outcome of the function yet is absent."""


class Part(BaseModel):
    """Some rows of a campaign's matrix."""

    campaign_id: int
    name: str
    suite: str
    state: str
    counted_by: Counting
    query: str
    made: Made
    targets: list[Column]
    modules: list[Module]
    """Of all rows that the query finds."""
    found: int
    functions: int
    """That the campaign has outcomes of."""
    offset: int
    rows: list[Row]


class Past(Cell):
    """One function on one target in one campaign, with what tells it from others."""

    campaign: str
    created_at: datetime
    target: str
    version: str
    device: str
    device_class: str
    hardware: str
    environment: str
    suite: str
    suite_revision: str
    simulated: bool
    sentences: list[str]


class History(BaseModel):
    """One function over campaigns and versions of its framework, newest campaign first."""

    framework: str
    function: str
    cells: list[Past]
