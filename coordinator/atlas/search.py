"""Searches function names for readers whose browsers run no scripts. The front page's script follows the same rule.
This module does no I/O."""

from __future__ import annotations

from collections.abc import Sequence

from coordinator.atlas.overview import Atlas


def search(atlas: Atlas, text: str, most: int) -> Sequence[str]:
    """The functions whose names contain ``text``, at most ``most`` of them. Functions whose last part of the name
    begins with ``text`` come first."""
    part = text.strip().lower()
    matches = [
        (score, rank, name)
        for framework in atlas.frameworks
        for name, rank in framework.ranks.items()
        if (score := _score(name.lower(), part)) is not None
    ]
    return [name for *_, name in sorted(matches)[:most]]


def _score(name: str, part: str) -> int | None:
    last = name.rpartition(".")[2]
    if part in (name, last):
        return 0
    if last.startswith(part):
        return 1
    return 2 if part in name else None
