"""Catches a first Ctrl-C without ending the program."""

from __future__ import annotations

import os
import signal
from types import FrameType

STDERR = 2
"""The file descriptor of standard error."""


class FirstInterrupt:
    """Catches the next Ctrl-C, or the next of several signals. The signal after it has its usual effect.

    ``notice`` is printed when the signal comes.
    """

    def __init__(self, *signals: signal.Signals, notice: str | None = None) -> None:
        self._came = False
        self._notice = notice
        self._before = {
            number: signal.signal(number, self._note) for number in (signals or (signal.Signals(signal.SIGINT),))
        }

    def take(self) -> bool:
        """Whether the signal came since the last call."""
        came, self._came = self._came, False
        return came

    def give_back(self) -> None:
        """Restore the usual effect of the signals."""
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, _number: int, _frame: FrameType | None) -> None:
        self._came = True
        self.give_back()
        if self._notice is not None:
            # A print could fail here, because the signal may have come in the middle of another print.
            os.write(STDERR, f"{self._notice}\n".encode())
