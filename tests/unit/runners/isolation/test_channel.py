"""The blocking end of a channel: what is held back leaves with the next message, in order."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from runners.errors import ChannelLostError
from runners.isolation.channel import Channel

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
