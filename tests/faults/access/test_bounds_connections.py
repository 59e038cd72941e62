"""A thousand idle connections, slow headers, and clients that do not read do not prevent other clients from
connecting."""

from __future__ import annotations

import contextlib
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import psutil
import pytest

from tests.admin import AS_ADMIN, admin_token_file
from tests.coordinator_process import STARTS_WITHIN_S, CoordinatorProcess, free_port
from tests.database_roles import application
from tests.faults.access.raw_http import allow_files, answer, connect, get
from tests.portolan_process import COMMAND
from tests.runner_process import environment
from tests.waiting import until

IDLE = 1000
PATIENCE_S = 60.0
MOST = 200
HEADERS_S = 3
LIMITS = (
    f"connections={MOST}, runner_connections=50, header_seconds={HEADERS_S}, stalled_seconds=2, stranger_body_seconds=2"
)
HALF_A_BODY = "POST {} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {}\r\nContent-Length: 1000\r\n\r\n{{"


class Serve(CoordinatorProcess):
    """``portolan serve``, whose connections are limited, instead of a bare uvicorn."""

    def start(self) -> None:
        self.runners_port = free_port()
        self.process = subprocess.Popen(
            [*COMMAND, "serve", "--port", str(self.port), "--runners-port", str(self.runners_port)],
            env=environment(
                PORTOLAN_DATABASE_URL=application(self.dsn),
                PORTOLAN_ADMIN_TOKEN_FILE=str(admin_token_file()),
                **self.variables,
            ),
            stdout=subprocess.DEVNULL,
        )
        until(self._answers, "the coordinator answers", STARTS_WITHIN_S)


@pytest.fixture(scope="module")
def coordinator(new_database: Callable[..., str]) -> Iterator[Serve]:
    coordinator = Serve(new_database(), PORTOLAN_LIMITS=LIMITS)
    yield coordinator
    coordinator.stop()


def open_connections(coordinator: Serve) -> int:
    """The number of connections that the coordinator has open."""
    of_port = psutil.Process(coordinator.process.pid).net_connections("tcp")
    return sum(c.laddr.port == coordinator.port and c.status == "ESTABLISHED" for c in of_port)


def test_idle_connections_make_room(coordinator: Serve) -> None:
    allow_files(IDLE + 500)
    with contextlib.ExitStack() as idle:
        for number in range(IDLE):
            idle.enter_context(connect(coordinator.port, b"GET / HT" if number % 2 else b""))
            if number % 250 == 249:
                address = f"{coordinator.url}/api/v1/campaigns"
                assert httpx.get(address, headers=AS_ADMIN, timeout=PATIENCE_S).status_code == 200
        until(lambda: open_connections(coordinator) <= MOST + 1, "there are no more than there may be", PATIENCE_S)
        # Without anybody in need of room they are ended all the same.
        until(lambda: open_connections(coordinator) <= 2, "connections that never ask anything are ended", PATIENCE_S)


def test_headers_that_come_a_byte_at_a_time_end(coordinator: Serve) -> None:
    """Each byte arrives soon after the previous one, but the time for the whole head is limited."""
    began = time.monotonic()
    with contextlib.closing(connect(coordinator.port, get("/healthz")[:-2])) as connection:
        connection.settimeout(0.2)
        while time.monotonic() - began < PATIENCE_S:
            try:
                connection.sendall(b"a")
                if connection.recv(1) == b"":
                    break
            except TimeoutError:
                continue
            except ConnectionError:
                break
        else:
            raise AssertionError("it goes on")
    assert time.monotonic() - began >= HEADERS_S


def test_headers_without_end_are_refused(coordinator: Serve) -> None:
    connection = connect(coordinator.port, b"GET / HTTP/1.1\r\nX: ")
    with contextlib.closing(connection), contextlib.suppress(ConnectionError):
        for _ in range(100):
            connection.sendall(b"a" * 65536)
        raise AssertionError("6 MB of headers were taken")


def test_a_reader_that_takes_nothing_is_let_go(coordinator: Serve) -> None:
    place = Path(__file__).parents[3] / "coordinator" / "web" / "static"
    largest = max(place.rglob("*.*"), key=lambda file: file.stat().st_size)
    ask = get(f"/static/{largest.relative_to(place)}")
    with contextlib.closing(connect(coordinator.port, b"")) as connection:
        # Pipelined, so that more is to be sent than the kernel's buffers take.
        many = ask * (1 + (16 << 20) // largest.stat().st_size)
        connection.settimeout(5)
        with contextlib.suppress(TimeoutError, ConnectionError):
            connection.sendall(many)
        until(lambda: open_connections(coordinator) <= 2, "it is let go", PATIENCE_S)


def answers(coordinator: Serve) -> None:
    address = f"{coordinator.url}/api/v1/campaigns"
    assert httpx.get(address, headers=AS_ADMIN, timeout=PATIENCE_S).status_code == 200


@pytest.mark.parametrize("path", ["/login", "/api/v1/runners/enrol"])
def test_requests_that_never_come_whole_make_room(coordinator: Serve, path: str) -> None:
    allow_files(IDLE + 500)
    kind = "application/json" if "api" in path else "application/x-www-form-urlencoded"
    with contextlib.ExitStack() as halves:
        for number in range(IDLE):
            halves.enter_context(connect(coordinator.port, HALF_A_BODY.format(path, kind).encode()))
            if number % 250 == 249:
                answers(coordinator)


def test_a_strangers_body_has_seconds_to_come(coordinator: Serve) -> None:
    body = HALF_A_BODY.format("/login", "application/x-www-form-urlencoded").encode()
    with contextlib.closing(connect(coordinator.port, body)) as connection:
        assert answer(connection).status == 408


def test_the_port_for_runners_takes_no_room_from_the_other(coordinator: Serve) -> None:
    allow_files(IDLE + 500)
    body = HALF_A_BODY.format("/api/v1/runners/enrol", "application/json").encode()
    with contextlib.ExitStack() as halves, httpx.Client(headers=AS_ADMIN, timeout=PATIENCE_S) as client:
        assert client.get(f"{coordinator.url}/api/v1/campaigns").status_code == 200
        before = open_connections(coordinator)
        for _ in range(MOST + 50):
            halves.enter_context(connect(coordinator.runners_port, body))
        assert client.get(f"{coordinator.url}/api/v1/campaigns").status_code == 200
        assert open_connections(coordinator) == before, "the connection of before is there"
