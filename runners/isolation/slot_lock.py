"""The lock that decides which slots of a supervisor may work at the same time. Pure; nobody waits here.

Untimed cases share it, one in each slot. A timed case has it alone, and so has the confirmation of a failure that
another case may have caused.
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
        """Whether a slot waits to be alone; then nothing new should begin that can wait."""
        return bool(self._asking)

    def share(self, slot: int) -> bool:
        """Let the slot work beside others, if that is possible now; returns whether it works."""
        if slot not in self._sharing:
            if self._alone is not None or self._asking:
                return False
            self._sharing.add(slot)
        return True

    def hold_alone(self, slot: int) -> bool:
        """Let the slot work alone, if that is possible now; returns whether it does.

        If not, the slot stops sharing, and other slots wait until it has worked.
        """
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
        """The slot has stopped working and requests nothing."""
        self._sharing.discard(slot)
        self._asking.discard(slot)
        if self._alone == slot:
            self._alone = None
