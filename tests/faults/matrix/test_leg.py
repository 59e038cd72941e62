"""A relay treats a connection as its weather says. Otherwise the matrix would test nothing."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator

import pytest

from tests.event_loop import EventLoop
from tests.faults.matrix.leg import Leg, Weather, corrupt, cut_in_the_middle, garble
from tests.waiting import until

PATIENCE_S = 0.5
LIMIT_S = 20.0
QUESTION = b"0123456789"


class Echo:
    """A server that sends received data back, and stores it."""

    def __init__(self) -> None:
        self.got: list[bytes] = []
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            self._threads.append(threading.Thread(target=self._answer, args=(connection,)))
            self._threads[-1].start()

    def _answer(self, connection: socket.socket) -> None:
        with connection:
            try:
                while piece := connection.recv(1 << 16):
                    self.got.append(piece)
                    connection.sendall(piece)
            except OSError:
                return

    def close(self) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for thread in self._threads:
            thread.join(LIMIT_S)


@pytest.fixture
def echo() -> Iterator[Echo]:
    echo = Echo()
    yield echo
    echo.close()


@pytest.fixture
def leg(echo: Echo) -> Iterator[Leg]:
    events = EventLoop()
    leg = Leg(echo.port, events.run)
    leg.open()
    yield leg
    leg.close()
    events.close()


def connect(leg: Leg) -> socket.socket:
    return socket.create_connection(("127.0.0.1", leg.port), LIMIT_S)


def ask(leg: Leg, patience_s: float = LIMIT_S) -> bytes:
    """The first data that comes back on a new connection; empty if the connection is closed."""
    with connect(leg) as connection:
        connection.sendall(QUESTION)
        connection.settimeout(patience_s)
        return connection.recv(1 << 16)


def test_in_good_weather_it_passes_everything(leg: Leg, echo: Echo) -> None:
    assert ask(leg) == QUESTION
    assert echo.got == [QUESTION]


def test_silent_nothing_arrives_and_nobody_is_told(leg: Leg, echo: Echo) -> None:
    leg.weather.silent = True
    with pytest.raises(TimeoutError):
        ask(leg, PATIENCE_S)
    assert echo.got == []


def test_what_was_forgotten_stays_forgotten(leg: Leg, echo: Echo) -> None:
    with connect(leg) as connection:
        connection.sendall(QUESTION)
        assert connection.recv(1 << 16) == QUESTION
        leg.forget_connections()
        connection.sendall(QUESTION)
        connection.settimeout(PATIENCE_S)
        with pytest.raises(TimeoutError):
            connection.recv(1)
    assert echo.got == [QUESTION]
    assert ask(leg) == QUESTION, "a new connection is known"


def test_deaf_what_is_asked_arrives_and_the_answer_does_not(leg: Leg, echo: Echo) -> None:
    leg.weather.deaf = True
    with pytest.raises(TimeoutError):
        ask(leg, PATIENCE_S)
    assert echo.got == [QUESTION]


def test_reset(leg: Leg) -> None:
    with connect(leg) as connection:
        connection.sendall(QUESTION)
        assert connection.recv(1 << 16) == QUESTION
        leg.reset_connections()
        with pytest.raises(ConnectionResetError):
            connection.recv(1)


@pytest.mark.parametrize(
    "weather", [Weather(delay_s=0.2), Weather(bytes_per_s=len(QUESTION) / 0.2)], ids=["delayed", "throttled"]
)
def test_slow(leg: Leg, weather: Weather) -> None:
    leg.weather = weather
    began = time.monotonic()
    assert ask(leg) == QUESTION
    assert time.monotonic() - began >= 0.4, "there and back"


def test_doubled_it_arrives_twice_and_is_answered_once(leg: Leg, echo: Echo) -> None:
    leg.weather.doubled = True
    with connect(leg) as connection:
        connection.sendall(QUESTION)
        until(lambda: echo.got == [QUESTION, QUESTION], "it arrived twice", LIMIT_S)
        assert connection.recv(1 << 16) == QUESTION
        connection.settimeout(PATIENCE_S)
        with pytest.raises(TimeoutError):
            connection.recv(1)


def test_mangled_once(leg: Leg) -> None:
    leg.weather.mangle = corrupt
    assert ask(leg) == b"01234\xff6789"
    assert ask(leg) == QUESTION
    leg.weather.mangle = garble
    assert ask(leg) == b"\xff" * 16


def test_cut_in_the_middle(leg: Leg) -> None:
    leg.weather.mangle = cut_in_the_middle
    with connect(leg) as connection:
        connection.sendall(QUESTION)
        assert connection.recv(len(QUESTION), socket.MSG_WAITALL) == QUESTION[: len(QUESTION) // 2]
        assert connection.recv(1) == b""
