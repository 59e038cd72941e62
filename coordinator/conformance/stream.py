"""A runner's stream of events as the kit reads it: tolerant, so that the clause that is broken says so."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Any

import httpx

from coordinator.errors import BrokenError
from protocol.lines import EndlessLineError, LineReader

OUTCOME_S = 60.0
"""For the outcome of a case that passes at once: a process may have to be made first."""
KEPT_LINES = 5_000
LONGEST_LINE = 64 << 20
"""A line past it ends the stream for us, as it does for the coordinator."""

Key = tuple[str, int]
"""A job's id and the number of its attempt."""


@dataclass(frozen=True)
class Seen:
    """One event as it came: the line it stood in, and when it was read."""

    event: dict[str, Any]
    line: bytes
    at: float

    @property
    def type(self) -> Any:
        return self.event.get("type")

    @property
    def n(self) -> int:
        n = self.event.get("n")
        return n if isinstance(n, int) else 0

    @property
    def text(self) -> str:
        """The event alone, to be compared: however its line was written."""
        return json.dumps(self.event, sort_keys=True)

    @property
    def key(self) -> Key:
        attempt = self.event.get("attempt")
        return str(self.event.get("id")), attempt if isinstance(attempt, int) else 0

    @property
    def ending(self) -> tuple[Any, Any]:
        """Verdict and ending of a finished event."""
        outcome = self.event.get("outcome")
        return (outcome.get("verdict"), outcome.get("ending")) if isinstance(outcome, dict) else (None, None)

    def is_of(self, type: str, key: Key) -> bool:
        return self.type == type and self.key == key


class Stream:
    """One open ``GET /v1/events``: read in the background, given out one by one."""

    def __init__(
        self,
        answer: httpx.Response,
        after: int,
        noted: Callable[[Seen, int], None],
        lines: list[bytes],
        outcome_s: float = OUTCOME_S,
    ) -> None:
        self._answer = answer
        self._position = after
        self._noted = noted
        self._lines = lines
        self._outcome_s = outcome_s
        self._arrived: asyncio.Queue[Seen | None] = asyncio.Queue()
        self._reader = asyncio.create_task(self._read())

    async def next(self, what: str, limit_s: float) -> Seen:
        """The next event; ``what`` is waited for, in words."""
        return (await self.until(lambda seen: True, what, limit_s))[-1]

    async def until(self, condition: Callable[[Seen], bool], what: str, limit_s: float | None = None) -> list[Seen]:
        """Every event up to the first of which the condition is true, that one included."""
        limit_s = self._outcome_s if limit_s is None else limit_s
        found: list[Seen] = []
        try:
            async with asyncio.timeout(limit_s):
                while not found or not condition(found[-1]):
                    seen = await self._arrived.get()
                    if seen is None:
                        raise BrokenError(f"the stream of events ended before {what} came")
                    found.append(seen)
        except TimeoutError:
            raise BrokenError(f"{what} did not come within {limit_s:g} s") from None
        return found

    async def finished(self, key: Key, limit_s: float | None = None) -> list[Seen]:
        """Every event up to the finished of this attempt."""
        return await self.until(
            lambda seen: seen.is_of("finished", key), f"the finished event of {named(key)}", limit_s
        )

    async def all_finished(self, keys: Collection[Key], what: str, limit_s: float | None = None) -> list[Seen]:
        """Every event up to the last finished of these attempts."""
        left = set(keys)

        def was_last(seen: Seen) -> bool:
            if seen.type == "finished":
                left.discard(seen.key)
            return not left

        return await self.until(was_last, what, limit_s)

    async def started(self, key: Key) -> list[Seen]:
        return await self.until(lambda seen: seen.is_of("started", key), f"the started event of {named(key)}")

    async def close(self) -> None:
        self._reader.cancel()
        # Not awaited itself: whoever interrupts the check meanwhile would be mistaken for its end.
        await asyncio.wait({self._reader})
        if not self._reader.cancelled():
            self._reader.result()

    async def _read(self) -> None:
        reader = LineReader(LONGEST_LINE)
        try:
            async for chunk in self._answer.aiter_raw():
                for line in filter(None, reader.feed(chunk)):
                    if len(self._lines) < KEPT_LINES:
                        self._lines.append(line)
                    for event in lenient(line):
                        seen = Seen(event, line, time.monotonic())
                        self._noted(seen, self._position)
                        self._position = max(self._position, seen.n)
                        self._arrived.put_nowait(seen)
        except (httpx.HTTPError, EndlessLineError):
            pass  # whoever waits learns that the stream ended
        finally:
            self._arrived.put_nowait(None)


def lenient(line: bytes) -> Iterator[dict[str, Any]]:
    """Every JSON object in a line, whatever else is wrong with it: ``outcomes.lines`` judges that."""
    text = line.decode("utf-8", "replace")
    decoder = json.JSONDecoder()
    position = 0
    while (position := text.find("{", position)) >= 0:
        try:
            event, position = decoder.raw_decode(text, position)
        except ValueError:
            return
        yield event


def named(key: Key) -> str:
    return f"job {key[0]} attempt {key[1]}"
