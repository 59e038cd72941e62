"""The pace at which a stream of events is read: few events at a time are not worth a read each.

Cases of half a millisecond report two thousand times a second. To be woken for each of these costs more than the rest
of what is done with it, so a session that was woken for little pauses, and reads at once what came meanwhile.
"""

from __future__ import annotations

import asyncio

GATHER_S = 0.050
FEW_LINES = 16
"""More at once are worth a read: then the stream is as fast as we are, or faster."""


class ReadingPace:
    """``keep`` is awaited after each batch of lines. What has arrived already is never waited for."""

    def __init__(self) -> None:
        self._waited = True
        """Whether the last batch was waited for, and not there already."""
        self._lines = 0
        """Since a batch was last waited for."""

    async def keep(self, lines: int, *, can_wait: bool) -> None:
        """Pause, if this batch was waited for and brought little, as what came before, and nobody waits for the next.

        The last few lines of a burst are no reason to let a fast runner wait.
        """
        since_then, self._lines = self._lines, lines + (0 if self._waited else self._lines)
        if can_wait and self._waited and since_then + lines < FEW_LINES:
            await asyncio.sleep(GATHER_S)
        # The event loop comes to this only if the next batch is not there already.
        self._waited = False
        asyncio.get_running_loop().call_soon(self._note_wait)

    def _note_wait(self) -> None:
        self._waited = True
