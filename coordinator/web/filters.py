"""Filters of the templates: figures for people, with spaces at which a browser does not break the line. Pure."""

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
    """To the second, in UTC, as the database has it."""
    return UNKNOWN if value is None else value.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def unproven(reason: str) -> str:
    """Why a placement is unknown, as a sentence; a word from a newer version is shown as is."""
    return Unproven(reason).sentence if reason in set(Unproven) else reason


def pretty(value: Any) -> str:
    """JSON to be read."""
    return json.dumps(value, indent=2, ensure_ascii=False)
