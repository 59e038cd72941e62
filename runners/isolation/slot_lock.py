"""The lock that says which slots of a supervisor may be at work at the same time. Pure; nobody waits here.

Untimed cases share it, one in each slot. A timed case, and the confirmation of a failure that another case may have
caused, has it alone.
"""

from __future__ import annotations


class SlotLock:
    """Shared by several slots, or held by one alone. A slot that asks to be alone goes before others that share."""

    def __init__(self) -> None:
        self._sharing: set[int] = set()
        self._alone: int | None = None
        self._asking: set[int] = set()

    @property
    def is_asked_for(self) -> bool:
        """Whether a slot waits to be alone, so that nothing should be begun that can wait."""
        return bool(self._asking)

    def share(self, slot: int) -> bool:
        """Have the slot at work beside others; whether it is. One that is already stays so."""
        if slot not in self._sharing:
            if self._alone is not None or self._asking:
                return False
            self._sharing.add(slot)
        return True

    def hold_alone(self, slot: int) -> bool:
        """Have the slot at work alone; whether it is. If not, it shares no longer, and others wait until it was."""
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
        """The slot is at work no longer, and asks for nothing."""
        self._sharing.discard(slot)
        self._asking.discard(slot)
        if self._alone == slot:
            self._alone = None
