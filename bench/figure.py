"""``MeasuredFigure``: one measured value, its baseline from the same run, and its goal.

Each figure is printed on stdout as one line of JSON. Only ``here`` does I/O: it reads properties of the machine.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class MeasuredFigure:
    """One measured value. ``met`` is None if there is no goal, or if the value could not be measured."""

    name: str
    value: float | None
    unit: str
    target: str
    """The goal, in words."""
    met: bool | None
    baseline: str | None = None
    """A description of the baseline, or the reason why the baseline was not run."""
    baseline_value: float | None = None
    ratio: float | None = None
    n: int = 1
    """The number of measurements from which the value was computed."""
    spread: Sequence[float] = ()
    """The smallest and the largest measurement. If the figure has a ratio, they are ratios; if not, they have the unit
    of the value."""
    detail: dict[str, Any] = field(default_factory=dict)

    def line(self, bench: str, where: dict[str, Any]) -> str:
        values = {name: _round(value) for name, value in asdict(self).items()}
        return json.dumps({"bench": bench, **values, "where": where}, ensure_ascii=False)


def middle(values: Sequence[float]) -> float:
    return statistics.median(values)


def spread(values: Sequence[float]) -> tuple[float, float]:
    return min(values), max(values)


def _round(value: Any) -> Any:
    """Round to four digits, because the measurements are not more exact."""
    if isinstance(value, float):
        return float(f"{value:.4g}")
    if isinstance(value, dict):
        return {key: _round(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [_round(member) for member in value]
    return value


PACKAGES = ("torch", "numpy", "fastapi", "uvicorn", "pydantic", "httpx", "sqlalchemy", "asyncpg")


def here() -> dict[str, Any]:
    """The machine and the installed packages, because values from different machines cannot be compared."""
    return {
        "cpu": _cpu_model(),
        "cores": len(os.sched_getaffinity(0)),
        "load": round(os.getloadavg()[0], 1),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": {name: version for name in PACKAGES if (version := _version(name))},
    }


def _cpu_model() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
