"""The lock that decides which slots of a supervisor may work at the same time. Pure; no method blocks.

Untimed cases share the lock, one case in each slot. A timed case holds it alone. So does the second run of a case that
another case may have disturbed.
"""

from __future__ import annotations


class SlotLock:
    """Several slots share the lock, or one slot holds it alone. A slot that asks to be alone has priority."""

    def __init__(self) -> None:
        self._sharing: set[int] = set()
        self._alone: int | None = None
        self._asking: set[int] = set()

    @property
    def is_asked_for(self) -> bool:
        """Whether a slot waits to be alone. Then other slots should begin nothing that can wait."""
        return bool(self._asking)

    def share(self, slot: int) -> bool:
        """Let the slot work beside other slots if possible. Returns whether the slot may work now."""
        if slot not in self._sharing:
            if self._alone is not None or self._asking:
                return False
            self._sharing.add(slot)
        return True

    def hold_alone(self, slot: int) -> bool:
        """Let the slot work alone if possible. Returns whether the slot may work now. If the slot must wait, it stops
        sharing, and no other slot can begin before this slot has worked."""
        if self._alone == slot:
            return True
        self._sharing.discard(slot)
        if self._alone is not None or self._sharing:
            self._asking.add(slot)
            return False
        self._asking.discard(slot)
        self._alone = slot
        return True

    def release(self, slot: int) -> None:
        """Release the lock, and withdraw the slot's request to be alone."""
        self._sharing.discard(slot)
        self._asking.discard(slot)
        if self._alone == slot:
            self._alone = None
