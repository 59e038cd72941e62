"""Faults of coordinators: killed, stopped, paused, started twice, or overloaded."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx

from tests.admin import AS_ADMIN
from tests.coordinator_process import CoordinatorProcess
from tests.faults.matrix.fault import COORDINATOR, Component, Fault
from tests.faults.matrix.suite import CAMPAIGN
from tests.faults.matrix.world import World

REQUESTS_AT_ONCE = 12
REQUEST_LIMIT_S = 30.0
ASKS_AGAIN_S = 1.0
HALF_A_BODY = (
    b"POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n"
    b"Content-Length: 100\r\n\r\ntoken="
)


class CoordinatorFault(Fault):
    place = Component.coordinator
    needs = COORDINATOR


class Killed(CoordinatorFault):
    name = "coordinator killed"

    def inject(self, world: World) -> None:
        world.coordinator.kill()

    def heal(self, world: World) -> None:
        world.coordinator.start()


class Stopped(CoordinatorFault):
    name = "coordinator stopped and started"
    lasts_s = 1.0

    def inject(self, world: World) -> None:
        world.coordinator.process.send_signal(signal.SIGTERM)
        # While its database cannot be reached, or a stream is open, it may take its time.
        with contextlib.suppress(Exception):
            world.coordinator.process.wait(10.0)

    def heal(self, world: World) -> None:
        if world.coordinator.process.poll() is None:
            world.coordinator.kill()
        world.coordinator.start()


class Paused(CoordinatorFault):
    name = "coordinator paused"
    lasts_s = 8.0

    def inject(self, world: World) -> None:
        os.kill(world.coordinator.process.pid, signal.SIGSTOP)

    def heal(self, world: World) -> None:
        os.kill(world.coordinator.process.pid, signal.SIGCONT)


class PausedBesideAnother(Paused):
    """A coordinator is paused, and continues as the owner of runners that another coordinator has owned for a while."""

    name = "coordinator paused until its ownership has ended, while another one runs"
    lasts_s = 36.0

    def inject(self, world: World) -> None:
        world.start_other()
        super().inject(world)

    def heal(self, world: World) -> None:
        super().heal(world)
        world.stop_others()


class Doubled(CoordinatorFault):
    name = "second coordinator started, then stopped"

    def inject(self, world: World) -> None:
        world.start_other()

    def heal(self, world: World) -> None:
        world.stop_others()


class DoubledAndKilled(Doubled):
    name = "two coordinators killed"

    def heal(self, world: World) -> None:
        for coordinator in world.others:
            coordinator.kill()
        world.coordinator.kill()
        world.coordinator.start()
        world.stop_others()


class KilledAtSubmission(CoordinatorFault):
    """A coordinator is killed during submissions. The clients get no response, and each campaign must be complete or
    absent."""

    name = "coordinator killed while campaigns are submitted"
    lasts_s = 1.0

    def inject(self, world: World) -> None:
        with ThreadPoolExecutor(4) as pool:
            requests = [pool.submit(submit, world.coordinator, runs=1) for _ in range(4)]
            world.coordinator.kill()
            for request in requests:
                request.result()

    def heal(self, world: World) -> None:
        world.coordinator.start()


class Burst(CoordinatorFault):
    """More simultaneous requests than connections to the database."""

    def inject(self, world: World) -> None:
        with ThreadPoolExecutor(REQUESTS_AT_ONCE) as pool:
            for request in [pool.submit(self.request, world.coordinator) for _ in range(REQUESTS_AT_ONCE)]:
                request.result()

    request: Callable[[CoordinatorProcess], None]


class ManySubmissions(Burst):
    name = "many submissions at once"
    lasts_s = 0.0

    @staticmethod
    def request(coordinator: CoordinatorProcess) -> None:
        submit(coordinator, runs=1)


class SubmittedAndCancelled(Burst):
    name = "many campaigns submitted and cancelled at once"
    lasts_s = 0.0

    @staticmethod
    def request(coordinator: CoordinatorProcess) -> None:
        campaign = submit(coordinator, runs=4)
        if campaign is not None:
            cancel(coordinator, campaign)


class HalfBodies(CoordinatorFault):
    """Clients without a token open many connections, and send no complete body."""

    name = "two hundred connections with half a body"
    needs = frozenset()
    count = 200

    def inject(self, world: World) -> None:
        self._open: list[socket.socket] = []
        for _ in range(self.count):
            with contextlib.suppress(OSError):
                self._open.append(socket.create_connection(("127.0.0.1", world.coordinator.port), 1.0))
                self._open[-1].sendall(HALF_A_BODY)

    def heal(self, world: World) -> None:
        for connection in self._open:
            connection.close()


def submit(coordinator: CoordinatorProcess, **fields: Any) -> int | None:
    """Submit a campaign of the scripted runners. Returns its number; None if the response does not say whether it
    exists."""
    body = CAMPAIGN | {"functions": ["matrix.quick"]} | fields
    try:
        answer = httpx.post(
            f"{coordinator.http.base_url}campaigns", json=body, headers=AS_ADMIN, timeout=REQUEST_LIMIT_S
        )
    except httpx.HTTPError:
        return None
    return int(answer.json()["id"]) if answer.status_code == 201 else None


def cancel(coordinator: CoordinatorProcess, campaign: int) -> None:
    """Request the cancellation repeatedly within a limit, because the coordinator or its database may be
    unavailable."""
    give_up = time.monotonic() + REQUEST_LIMIT_S
    while time.monotonic() < give_up:
        with contextlib.suppress(httpx.HTTPError):
            url = f"{coordinator.http.base_url}campaigns/{campaign}/cancel"
            if httpx.post(url, headers=AS_ADMIN, timeout=REQUEST_LIMIT_S).status_code < 500:
                return
        time.sleep(ASKS_AGAIN_S)


KINDS: tuple[type[Fault], ...] = (
    Killed,
    Stopped,
    Paused,
    PausedBesideAnother,
    Doubled,
    DoubledAndKilled,
    KilledAtSubmission,
    ManySubmissions,
    SubmittedAndCancelled,
    HalfBodies,
)
