"""Replaces a member of a class or a module within a ``with`` statement."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def replacing(owner: Any, name: str, member: Any) -> Iterator[None]:
    """Set ``owner.name`` to ``member`` during the block, and restore the previous state after it.

    Raises ``TypeError`` for an owner whose members cannot be set.
    """
    own = vars(owner).get(name, replacing)
    setattr(owner, name, member)
    try:
        yield
    finally:
        if own is replacing:
            delattr(owner, name)
        else:
            setattr(owner, name, own)
