"""A stream is cut, and finish events from it are still being stored when the next stream is requested. No event is
lost."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

import pytest

from tests.coordinator_process import CoordinatorProcess
from tests.event_loop import EventLoop
from tests.faults.dispatch.conftest import SECRET
from tests.faults.dispatch.test_database_silent import table_locks
from tests.faults.dispatch.test_killed import attempts, cursor, one_outcome_each
from tests.runner_process import RunnerProcess
from tests.waiting import until

NAPS = 60
ACKNOWLEDGED_BY_S = 4.0
"""A coordinator acknowledges stored events after a second without new events."""


class Gate:
    """A relay to a runner. It can close connections, or delay a stream of events while all other requests pass."""

    def __init__(self, url: str) -> None:
        self._to = urlsplit(url)
        self.finishes = 0
        """Lines that were passed on to readers of the events."""
        self.waiting = 0
        """The number of streams that were delayed so far."""
        self.acknowledgements = 0
        self.kept_waiting = False
        self._let_through = asyncio.Event()
        self._writers: list[asyncio.StreamWriter] = []
        self._events = EventLoop()

    def __enter__(self) -> Gate:
        self._events.run(self._listen())
        return self

    def __exit__(self, *_: object) -> None:
        self._events.run(self._close())
        self._events.close()

    def let_through(self) -> None:
        self.kept_waiting = False
        self._events.loop.call_soon_threadsafe(self._let_through.set)

    def cut(self) -> None:
        """Let the data that was already passed on arrive, and then end every connection."""
        self._events.loop.call_soon_threadsafe(self._end)

    def _end(self) -> None:
        while self._writers:
            self._writers.pop().close()

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def _close(self) -> None:
        self._server.close()
        self._end()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.append(writer)
        try:
            to_reader, to_writer = await asyncio.open_connection(self._to.hostname, self._to.port)
            self._writers.append(to_writer)
            await asyncio.gather(self._ask(reader, to_writer), self._answer(to_reader, writer), return_exceptions=True)
        except (OSError, asyncio.CancelledError):
            writer.close()

    async def _ask(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(65536):
                self.acknowledgements += data.count(b"POST /v1/events/ack")
                if self.kept_waiting and b"GET /v1/events?" in data:
                    self.waiting += 1
                    await self._let_through.wait()
                writer.write(data)
                await writer.drain()
        finally:
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(65536):
                self.finishes += data.count(b'"type":"finished"')
                writer.write(data)
                await writer.drain()
        finally:
            writer.close()


@pytest.fixture
def gate(start_runner: Callable[..., RunnerProcess], coordinator: CoordinatorProcess) -> Iterator[Gate]:
    """A relay to a registered runner."""
    with Gate(start_runner().ready["url"]) as gate:
        assert coordinator.register(gate.url, SECRET).status_code == 201
        yield gate
        coordinator.stop()


def test_a_stream_is_cut_while_its_finishes_are_stored(coordinator: CoordinatorProcess, gate: Gate) -> None:
    """If they were acknowledged before the next stream begins, this stream would lack them, and all attempts would be
    given up."""
    campaign = coordinator.submit("hazards.nap", runs=NAPS)
    coordinator.wait_done(campaign, 1)
    with table_locks(coordinator.dsn, "outcomes", mode="EXCLUSIVE"):
        stored_cursor, passed_on = cursor(coordinator.dsn), gate.finishes
        until(lambda: gate.finishes >= passed_on + 3, "finishes that cannot be stored yet have been passed on")
        gate.kept_waiting = True
        gate.cut()
        until(lambda: gate.waiting, "the next stream is requested, after what was stored by then")
        before = gate.acknowledgements
    until(lambda: cursor(coordinator.dsn) > stored_cursor, "they are stored")
    with pytest.raises(AssertionError, match="not so within"):
        until(lambda: gate.acknowledgements > before, "an acknowledgement", ACKNOWLEDGED_BY_S)
    gate.let_through()
    one_outcome_each(coordinator, campaign)
    assert attempts(coordinator.dsn).keys() == {("finished", None)}, "none was given up"
    until(lambda: gate.acknowledgements > before, "what the new stream delivered is acknowledged")
