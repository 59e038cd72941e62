"""A runner's event stream. Faulty lines are tolerated here, so that the check of the broken clause can report them."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import httpx

from coordinator.conformance.cases import Key, job_name
from coordinator.conformance.times import CheckTimes
from coordinator.errors import BrokenError
from protocol.lines import EndlessLineError, LineReader

KEPT_LINES = 5_000
LONGEST_LINE = 64 << 20
"""The maximum length of a line. A longer line ends the stream, as it does for the coordinator."""


@dataclass(frozen=True)
class ReceivedEvent:
    """One received event: its members, its line, and the time at which it was read."""

    body: dict[str, Any]
    line: bytes
    at: float

    @property
    def type(self) -> Any:
        return self.body.get("type")

    @property
    def n(self) -> int:
        n = self.body.get("n")
        return n if isinstance(n, int) else 0

    @property
    def text(self) -> str:
        """The event in a normal form, without spaces and with sorted members. Two events are equal if their normal
        forms are equal."""
        return json.dumps(self.body, sort_keys=True)

    @property
    def key(self) -> Key:
        attempt = self.body.get("attempt")
        return str(self.body.get("id")), attempt if isinstance(attempt, int) else 0

    @property
    def ending(self) -> tuple[Any, Any]:
        """The verdict and ending of a finished event."""
        outcome = self.body.get("outcome")
        return (outcome.get("verdict"), outcome.get("ending")) if isinstance(outcome, dict) else (None, None)

    def is_of(self, type: str, key: Key) -> bool:
        return self.type == type and self.key == key

    def require_ending(self, verdict: str, ending: str, subject: str = "it") -> None:
        """Raise ``BrokenError`` unless this event finishes an attempt with this verdict and ending."""
        if self.ending != (verdict, ending):
            raise BrokenError(f"{subject} ended as {self.ending[0]} ({self.ending[1]}), expected {verdict} ({ending})")


class Stream:
    """One open ``GET /v1/events``. A task reads the stream in the background, and checks take its events one by one."""

    def __init__(
        self,
        answer: httpx.Response,
        after: int,
        note: Callable[[ReceivedEvent, int], None],
        lines: list[bytes],
        times: CheckTimes,
    ) -> None:
        self._answer = answer
        self._position = after
        self._note = note
        self._lines = lines
        self._times = times
        self._arrived: asyncio.Queue[ReceivedEvent | None] = asyncio.Queue()
        self._reader = asyncio.create_task(self._read())

    async def next(self, what: str, limit_s: float) -> ReceivedEvent:
        """Return the next event. Raises ``BrokenError`` if no event comes in time; the message names the expected event
        (``what``)."""
        return (await self.until(lambda event: True, what, limit_s))[-1]

    async def until(
        self, condition: Callable[[ReceivedEvent], bool], what: str, limit_s: float | None = None
    ) -> list[ReceivedEvent]:
        """Return every event up to and including the first one that meets the condition."""
        limit_s = self._times.outcome_s if limit_s is None else limit_s
        events: list[ReceivedEvent] = []
        try:
            async with asyncio.timeout(limit_s):
                while not events or not condition(events[-1]):
                    event = await self._arrived.get()
                    if event is None:
                        raise BrokenError(
                            f"the runner ended the event stream before it sent {what}: keep the stream open"
                        )
                    events.append(event)
        except TimeoutError:
            raise BrokenError(f"the runner did not send {what} within {limit_s:g} s: send it earlier") from None
        return events

    async def stays_open(self, seconds: float) -> None:
        """Raise ``BrokenError`` if the runner ends the stream within this time."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while await self._arrived.get() is not None:
                    pass
                raise BrokenError(f"the runner closed a stream within {seconds:g} s without events: keep it open")

    async def wait_finished(self, *keys: Key, limit_s: float | None = None) -> list[ReceivedEvent]:
        """Return every numbered event until all of these attempts have finished."""
        left = set(keys)

        def is_last(event: ReceivedEvent) -> bool:
            if event.type == "finished":
                left.discard(event.key)
            return not left

        what = f"the finished event of {job_name(keys[0])}" if len(keys) == 1 else f"{len(keys)} finished events"
        return [event for event in await self.until(is_last, what, limit_s) if event.type != "heartbeat"]

    async def wait_started(self, key: Key) -> ReceivedEvent:
        return (await self.until(lambda event: event.is_of("started", key), f"the started event of {job_name(key)}"))[
            -1
        ]

    async def heartbeat(self) -> ReceivedEvent:
        """Return the next heartbeat, and skip the events before it."""
        limit_s = self._times.heartbeat_s + self._times.slack_s
        return (await self.until(lambda event: event.type == "heartbeat", "a heartbeat", limit_s))[-1]

    async def close(self) -> None:
        self._reader.cancel()
        # It is not awaited directly, because a cancellation of the check would be mistaken for the end of the reader.
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
                    for body in read_leniently(line):
                        event = ReceivedEvent(body, line, time.monotonic())
                        self._note(event, self._position)
                        self._position = max(self._position, event.n)
                        self._arrived.put_nowait(event)
        except (httpx.HTTPError, EndlessLineError):
            pass  # the None below ends the wait of ``until``
        finally:
            self._arrived.put_nowait(None)


def read_leniently(line: bytes) -> Iterator[dict[str, Any]]:
    """Return every JSON object in a line, even if the line has other faults. The clause ``outcomes.lines`` judges those
    faults."""
    text = line.decode("utf-8", "replace")
    decoder = json.JSONDecoder()
    position = 0
    while (position := text.find("{", position)) >= 0:
        try:
            body, position = decoder.raw_decode(text, position)
        except ValueError:
            return
        yield body
