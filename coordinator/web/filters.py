"""Filters of the templates. They format values for people, with non-breaking spaces. It does no I/O."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from coordinator.figures import formats
from coordinator.figures.formats import UNKNOWN
from protocol.enums import Unproven

NARROW_SPACE = "\u202f"


def milliseconds(value: float | None) -> str:
    return formats.latency(value).replace(" ", NARROW_SPACE)


def level(value: float | None, *, unconfirmed: bool | None) -> str:
    return formats.level(value, unconfirmed=unconfirmed).replace(" ", NARROW_SPACE)


def duration(seconds: float | None) -> str:
    return formats.duration(seconds).replace(" ", NARROW_SPACE)


def moment(value: datetime | None) -> str:
    """The time to the second, in UTC, as in the database."""
    return UNKNOWN if value is None else value.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def unproven(reason: str) -> str:
    """A sentence that explains why a placement is unknown. A word from a newer version is shown unchanged."""
    return Unproven(reason).sentence if reason in set(Unproven) else reason


def pretty(value: Any) -> str:
    """The value as JSON with indentation."""
    return json.dumps(value, indent=2, ensure_ascii=False)
