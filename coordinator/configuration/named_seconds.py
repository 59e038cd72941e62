"""Parses settings that change times by name (``silence_s=3, sweep_s=1.5``). The names are fields of a dataclass.
No I/O."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, TypeVar

from coordinator.errors import SettingError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

SHORTEST_S = 0.001
LONGEST_S = 86_400.0

TimesT = TypeVar("TimesT", bound="DataclassInstance")


def parse_named_seconds(kind: type[TimesT], text: str, setting: str) -> TimesT:
    """Return the default times, changed as the text says. Raises ``SettingError``."""
    names = [field.name for field in fields(kind)]
    seconds_by_name: dict[str, float] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, _, value = (word.strip() for word in part.partition("="))
        if name not in names:
            raise SettingError(f"{setting}: there is no time '{name[:100]}'; choose one of: {', '.join(names)}")
        try:
            seconds = float(value)
        except ValueError:
            seconds = 0.0
        # This comparison also rejects NaN.
        if not SHORTEST_S <= seconds <= LONGEST_S:
            raise SettingError(
                f"{setting}: {name} is {value[:100]!r}: give seconds from {SHORTEST_S:g} to {LONGEST_S:,.0f}"
            )
        seconds_by_name[name] = seconds
    return kind(**seconds_by_name)
