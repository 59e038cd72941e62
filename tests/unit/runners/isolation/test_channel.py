"""Channels: what is held back leaves with the next message, in order; how long a message may be."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from protocol.limits import MAX_CATALOGUE_BYTES
from runners.errors import ChannelLostError
from runners.isolation.channel import ENDLESS, MAX_LINE, READ, Channel, encode
from runners.isolation.loop_channel import LoopChannel

Ends = tuple[Channel, socket.socket]


@pytest.fixture
def ends() -> Iterator[Ends]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.setblocking(False)
        yield Channel(ours), theirs


def test_what_is_held_leaves_with_the_next_message(ends: Ends) -> None:
    channel, other = ends
    channel.hold({"n": 1})
    with pytest.raises(BlockingIOError):
        other.recv(100)
    channel.send({"n": 2})
    channel.send({"n": 3})
    assert other.recv(100) == b'{"n":1}\n{"n":2}\n{"n":3}\n'


def test_a_message_is_seen_before_it_is_received(ends: Ends) -> None:
    channel, other = ends
    assert not channel.has_arrived
    other.send(b'{"n":1}\n{"n":2}\n')
    assert channel.has_arrived
    assert channel.receive() == {"n": 1}
    assert channel.has_arrived
    assert channel.receive() == {"n": 2}
    assert not channel.has_arrived


def test_nothing_arrives_from_an_end_that_is_gone(ends: Ends) -> None:
    channel, other = ends
    other.close()
    assert not channel.has_arrived
    assert channel.receive() is None
    channel.hold({"n": 1})
    with pytest.raises(ChannelLostError):
        channel.send({"n": 2})


def test_nothing_arrives_where_the_descriptor_was_closed(ends: Ends) -> None:
    channel, _ = ends
    channel.close()
    assert not channel.has_arrived


async def test_a_catalogue_may_be_longer_than_what_a_case_sends() -> None:
    catalogue = {"catalogue": "x" * (MAX_LINE + READ)}
    assert await first_of_channel(catalogue, MAX_CATALOGUE_BYTES) == catalogue
    assert ENDLESS in await first_of_channel(catalogue, MAX_LINE)


async def first_of_channel(message: dict[str, Any], longest: int) -> Any:
    """The message that arrives, or why the channel was lost."""
    ours, theirs = socket.socketpair()
    arrival: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    channel = LoopChannel(ours, arrival.set_result, arrival.set_result, longest)
    sending = asyncio.to_thread(theirs.sendall, encode(message))
    try:
        _, first = await asyncio.gather(sending, arrival, return_exceptions=True)
    finally:
        channel.close()
        theirs.close()
    return first
