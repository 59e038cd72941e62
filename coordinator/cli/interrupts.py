"""Catches a first Ctrl-C without ending the program."""

from __future__ import annotations

import signal
from types import FrameType


class FirstInterrupt:
    """Catches the next Ctrl-C. A second Ctrl-C has its usual effect."""

    def __init__(self) -> None:
        self._came = False
        self._before = signal.signal(signal.SIGINT, self._note)

    def take(self) -> bool:
        """Whether Ctrl-C was pressed since the last call."""
        came, self._came = self._came, False
        return came

    def give_back(self) -> None:
        """Restore the usual effect of Ctrl-C."""
        signal.signal(signal.SIGINT, self._before)

    def _note(self, _number: int, _frame: FrameType | None) -> None:
        self._came = True
        self.give_back()
