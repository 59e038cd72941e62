"""The durations of parts and long files in ``durations.toml``, so that the longest begin first.

In the opposite order, one process would run for minutes after all others have ended.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.parts.record import Record

PATH = Path(__file__).with_name("durations.toml")
LONG_S = 4.0
"""Shorter files come last, in the order of their names."""
HEAD = "# Seconds that the parts and their longest files took when `make test-sizes` last wrote them.\n"


@dataclass(frozen=True)
class Durations:
    """Seconds by part and by file."""

    parts: dict[str, float] = field(default_factory=dict)
    files: dict[str, float] = field(default_factory=dict)


def read() -> Durations:
    return Durations(**tomllib.loads(PATH.read_text())) if PATH.is_file() else Durations()


def merge(record: Record, before: Durations) -> str:
    """The durations of a run, completed by earlier durations of parts and files that the run did not have."""
    parts = before.parts | {name: part["wall_s"] for name, part in record["parts"].items()}
    ran = {file: wall_s for part in record["parts"].values() for file, (_, wall_s, _) in part["files"].items()}
    files = {file: seconds for file, seconds in (before.files | ran).items() if seconds >= LONG_S}
    return HEAD + "".join(f"\n[{table}]\n{_rows(rows)}" for table, rows in (("parts", parts), ("files", files)))


def _rows(rows: Mapping[str, float]) -> str:
    return "".join(f'"{name}" = {seconds:.0f}\n' for name, seconds in sorted(rows.items(), key=lambda row: -row[1]))
