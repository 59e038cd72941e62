"""A real runner service whose cases end immediately as their tale says, so that pages show every kind of result.

``python -m tests.browser.told_runner DEVICE NOTE`` serves it and writes its URL as one line. Some functions have very
long names or names with markup, messages that are scripts, or a log of the maximum length. Some run on one device only,
some fall back, and one fails as soon as the file NOTE exists. With RELEASE as a third argument, such as torch@2.9.0,
the runner offers suites of this release's public functions instead, so that the page of coverage has a table.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import uvicorn

from coordinator.catalogue.releases import shipped_release
from protocol import PROTOCOL_VERSION
from protocol.catalogue import CatalogueCase, CatalogueSuite
from protocol.enums import DeviceClass, Ending, Placement, Verdict
from protocol.events import Running
from protocol.outcomes import Evidence, Outcome, PlacementProof, Timing
from protocol.runner import Fingerprint, RunnerInfo
from runners.http.access import Access
from runners.http.server import Service, build
from runners.isolation.attempts import Task
from runners.isolation.events import EventLog
from runners.isolation.offer import OfferBuilder

SECRET = "a secret of the tales"
SUITE = "tales"
NOTE_ON_XLA = "XLA on the host CPU, not a TPU"
MARKUP = "tales.odd.<img src=x onerror=alert(1)>"
ENDLESS = f"tales.odd.{'endless' * 60}"
SCRIPT = "</pre></code><script>document.title = 'taken over'</script> & \"quoted\" 'twice'"
LOG_CHARACTERS = 1 << 16


@dataclass(frozen=True)
class Tale:
    """A function, and how its cases end on each device."""

    function: str
    cases: tuple[str, ...] = ("small", "large")
    raises_on_xla: str | None = None
    says: str = ""
    falls_back_on_xla: bool = False
    host_only: str | None = None
    raises_everywhere: bool = False
    noted: bool = False
    """The case fails as soon as the note exists."""
    log: str = ""


TALES = (
    Tale("tales.calm.drift", cases=("small", "large", "empty")),
    Tale("tales.calm.tow"),
    Tale("tales.calm.chart", host_only="it only reads a file"),
    Tale("tales.storm.reef", raises_on_xla="builtins.NotImplementedError", says="no kernel for 'reef' on xla"),
    Tale("tales.storm.leak", raises_on_xla="builtins.RuntimeError", says="out of memory while allocating 64 GiB"),
    Tale("tales.storm.float", falls_back_on_xla=True),
    Tale("tales.storm.ebb", noted=True, raises_on_xla="builtins.RuntimeError", says="the tide is out"),
    Tale(MARKUP, raises_on_xla="builtins.RuntimeError", raises_everywhere=True, says=SCRIPT, log=SCRIPT * 20_000),
    Tale(ENDLESS, cases=("0",), raises_on_xla="builtins.TypeError", says="x" * 20_000),
)


class Teller:
    """An executor that finishes a task when it is submitted."""

    def __init__(self, log: EventLog, device: str, note: Path) -> None:
        self._log = log
        self._device = device
        self._note = note

    @property
    def queued(self) -> int:
        return 0

    @property
    def starting(self) -> int:
        return 0

    def running(self) -> list[Running]:
        return []

    def submit(self, tasks: Iterable[Task]) -> None:
        for task in tasks:
            self._log.record_start(*task.key)
            (tale,) = [candidate for candidate in TALES if candidate.function == task.function]
            self._log.record_finish(*task.key, outcome(tale, self._device, task, low=self._note.exists()))

    def cancel(self, id: str, attempt: int) -> None:
        """Do nothing, because no task waits or runs."""

    async def close(self) -> None:
        """Do nothing, because there is nothing to stop."""


def outcome(tale: Tale, device: str, task: Task, *, low: bool) -> Outcome:
    here = device == "xla" or tale.raises_everywhere
    log = tale.log[:LOG_CHARACTERS]
    make_outcome = partial(Outcome, duration_s=0.01, log_tail=log, log_bytes=len(log))
    if tale.raises_on_xla and (low if tale.noted else here):
        evidence = Evidence(exception=tale.raises_on_xla, message=tale.says, stage="call", frames=["tales.py:1 call"])
        return make_outcome(verdict=Verdict.failed, ending=Ending.raised, evidence=evidence)
    fell = tale.falls_back_on_xla and device == "xla"
    placement = Placement.fell_back if fell else Placement.host_only if tale.host_only else Placement.on_device
    middle = (3.0 if device == "xla" else 1.0) * (1 + task.job.run / 50)
    return make_outcome(
        verdict=Verdict.passed,
        ending=Ending.returned,
        placement=placement,
        proof=PlacementProof(devices=[device], fallbacks={"tales::float": 2} if fell else {}, executed=2),
        timing=Timing(cold_ms=40 * middle, samples_ms=[middle * (1 + number / 100) for number in range(20)]),
    )


def tales() -> CatalogueSuite:
    cases = [
        CatalogueCase(id=f"{tale.function}/{case}", function=tale.function, host_only=tale.host_only)
        for tale in TALES
        for case in tale.cases
    ]
    return CatalogueSuite(name=SUITE, revision="1", cases=cases)


def suites_of_release(release: str) -> list[CatalogueSuite]:
    """Suites with one case for many or few of the release's functions."""
    names = sorted(shipped_release(release).kinds)
    return [
        CatalogueSuite(
            name=suite,
            revision="1",
            cases=[CatalogueCase(id=f"{name}/0", function=name) for name in names[::step]],
        )
        for suite, step in {"library": 1, "pairs": 50}.items()
    ]


def service(device: str, note: Path, release: str | None = None) -> Service:
    framework, _, version = (release or "tales@1.0").partition("@")
    info = RunnerInfo(
        boot_id=f"told-{time.time_ns()}",
        protocol=PROTOCOL_VERSION,
        framework=framework,
        version=version,
        device=device,
        device_class=DeviceClass.cpu if device == "cpu" else DeviceClass.other,
        device_count=1,
        queue_limit=512,
        fingerprint=Fingerprint(
            hardware="a told machine",
            environment="told",
            host="here",
            system="none",
            libraries={framework: version},
            notes=[NOTE_ON_XLA] if device == "xla" else [],
        ),
    )
    log = EventLog()
    builder = OfferBuilder()
    for suite in suites_of_release(release) if release else [tales()]:
        builder.add(suite)
    return Service(info, builder.build(), log, Teller(log, device, note), Access(SECRET))


class Server(uvicorn.Server):
    async def startup(self, sockets: object = None) -> None:
        await super().startup()
        port = self.servers[0].sockets[0].getsockname()[1]
        print(f"http://127.0.0.1:{port}", flush=True)


def main(device: str, note: str, release: str | None = None) -> None:
    application = build(service(device, Path(note), release))
    Server(uvicorn.Config(application, host="127.0.0.1", port=0, log_level="warning", access_log=False)).run()


if __name__ == "__main__":
    main(*sys.argv[1:])
