"""A real runner service whose executor finishes every task immediately, so that only dispatch is measured.

``python -m bench.instant_runner PORT CASES`` serves the product's own server, attempts and event log. Only the process
that would run a case is missing. If the arguments end with a list of devices, there is one runner for each device, at
``/0``, ``/1`` and so on.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Sequence
from typing import Any

import uvicorn

from protocol import PROTOCOL_VERSION
from protocol.catalogue import CatalogueCase, CatalogueSuite
from protocol.enums import DeviceClass, Ending, Placement, Verdict
from protocol.events import Running
from protocol.outcomes import Outcome, PlacementProof, Timing
from protocol.runner import Fingerprint, RunnerInfo
from runners.http.access import Access
from runners.http.server import Service, build
from runners.isolation.attempts import Task
from runners.isolation.events import EventLog
from runners.isolation.offer import OfferBuilder

SECRET = "bench"
SUITE = "instant"

QUEUE_LIMIT = 512


class InstantExecutor:
    """Finishes a task when it is submitted, with an outcome of typical size."""

    def __init__(self, log: EventLog) -> None:
        self._log = log

    @property
    def queued(self) -> int:
        return 0

    @property
    def starting(self) -> int:
        return 0

    def running(self) -> list[Running]:
        return []

    def submit(self, tasks: Iterable[Task]) -> None:
        # The log gets the time of arrival, on the clock that all processes of this machine share.
        outcome = ordinary_outcome(f"{time.monotonic_ns()}")
        for task in tasks:
            self._log.record_start(*task.key)
            self._log.record_finish(*task.key, outcome)

    def cancel(self, id: str, attempt: int) -> None:
        """Do nothing, because no task waits or runs."""

    async def close(self) -> None:
        """Do nothing, because there is nothing to stop."""


def ordinary_outcome(log_tail: str) -> Outcome:
    return Outcome(
        verdict=Verdict.passed,
        ending=Ending.returned,
        placement=Placement.on_device,
        proof=PlacementProof(devices=["cpu"], executed=1),
        timing=Timing(init_ms=0.1, cold_ms=0.2, lock_wait_ms=0.0, position=3),
        duration_s=0.0,
        log_tail=log_tail,
        log_bytes=len(log_tail),
    )


def service(cases: int, device: str = "cpu") -> Service:
    numbers = (divmod(number, 10) for number in range(cases))
    ids = {f"instant.function_{major}/case_{minor}": f"instant.function_{major}" for major, minor in numbers}
    revision = f"of {cases} cases"
    builder = OfferBuilder()
    suite_cases = [CatalogueCase(id=id, function=function) for id, function in ids.items()]
    builder.add(CatalogueSuite(name=SUITE, revision=revision, cases=suite_cases))
    info = RunnerInfo(
        boot_id=f"bench-{time.time_ns()}",
        protocol=PROTOCOL_VERSION,
        framework="instant",
        version="1",
        device=device,
        device_class=DeviceClass.cpu,
        device_count=1,
        queue_limit=QUEUE_LIMIT,
        simulated=True,
        fingerprint=Fingerprint(hardware="none", environment="none", host="here", system="none", python="none"),
    )
    log = EventLog()
    return Service(info, builder.build(), log, InstantExecutor(log), Access(SECRET))


def fleet(cases: int, devices: Sequence[str]) -> Any:
    """An application with one runner per device, distinguished by the first part of the path."""
    runners = [build(service(cases, device)) for device in devices]

    async def application(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            number, _, path = scope["path"].lstrip("/").partition("/")
            if number.isdigit() and int(number) < len(runners):
                own = {**scope, "path": f"/{path}", "raw_path": f"/{path}".encode()}
                await runners[int(number)](own, receive, send)
                return
        await runners[0](scope, receive, send)

    return application


def main(arguments: list[str]) -> None:
    port, cases = map(int, arguments[:2])
    # A framework's environment has no uvloop, so this runner does not use it either.
    application = fleet(cases, arguments[2:]) if arguments[2:] else build(service(cases))
    uvicorn.run(application, host="127.0.0.1", port=port, log_level="warning", access_log=False, loop="asyncio")


if __name__ == "__main__":
    main(sys.argv[1:])
