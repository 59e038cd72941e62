"""A real runner service in a separate process, and a client that uses it according to the contract."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import httpx

from protocol.catalogue import Catalogue, CatalogueSuite
from protocol.events import EVENT, Finished, Heartbeat, Started
from protocol.jobs import JobReceipts
from protocol.lines import LineReader
from protocol.outcomes import Outcome
from protocol.runner import RunnerInfo
from runners.isolation import processes
from tests.fork_server import RUNNER_SERVER, ForkedProcess
from tests.waiting import LIMIT_S

ROOT = Path(__file__).parent.parent
PATHS = (str(ROOT), str(ROOT / "tests" / "hazards"))
"""The import path of the hazards, for the processes of a runner."""


def environment(**variables: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(PATHS), **variables}


def says_something(stream: IO[str]) -> bool:
    """Whether a process writes to its stream, or closes it, within a limit. No output may have been read before."""
    readable, _, _ = select.select([stream], [], [], LIMIT_S)
    return bool(readable)


def alive(pid: int) -> bool:
    process = processes.look(pid)
    return process is not None and process.alive


class RunnerProcess:
    """``portolan-runner serve`` of the hazards, or another ``command``, with the requests that a coordinator would
    send.

    The hazards' supervisor is forked after the imports, unless a test requests a ``real`` start.
    """

    def __init__(
        self,
        *options: str,
        device: str = "cpu",
        command: Sequence[str | Path] = (),
        real: bool = False,
        **variables: str,
    ) -> None:
        server = None if real or command else RUNNER_SERVER
        command = command or [sys.executable, "-m", "runners", "serve", "hazards", device, "--port", "0"]
        self.process = ForkedProcess(
            server,
            [*command, *options],
            env=environment(**variables),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        if not says_something(self.process.stdout):
            self.process.kill()
        line = self.process.stdout.readline()
        if not line:
            _, complaint = self.process.communicate()
            raise AssertionError(f"the runner did not start ({self.process.returncode}): {complaint}")
        self.ready = json.loads(line)
        secret = self.ready.get("secret") or variables["PORTOLAN_RUNNER_SECRET"]
        self.http = httpx.Client(
            base_url=self.ready["url"], headers={"Authorization": f"Bearer {secret}"}, timeout=LIMIT_S
        )
        self.info = RunnerInfo.model_validate_json(self.http.get("/v1/runner").content)
        self.suite: CatalogueSuite = Catalogue.model_validate_json(self.http.get("/v1/catalogue").content).suites[0]
        self._seen = 0
        self._jobs = 0

    @property
    def pid(self) -> int:
        return self.process.pid

    def job(self, case: str, **fields: Any) -> dict[str, Any]:
        self._jobs += 1
        return {
            "id": f"job-{self._jobs}",
            "attempt": 1,
            "case": f"hazards.{case}",
            "run": 1,
            "timeout_s": LIMIT_S,
            "timing": "off",
        } | fields

    def post(self, *jobs: dict[str, Any]) -> list[str]:
        body = {
            "boot_id": self.info.boot_id,
            "suite": self.suite.name,
            "revision": self.suite.revision,
            "jobs": jobs,
        }
        answer = self.http.post("/v1/jobs", json=body)
        assert answer.status_code == 200, answer.text
        return [receipt.status.value for receipt in JobReceipts.model_validate_json(answer.content).jobs]

    @contextlib.contextmanager
    def stream(self, after: int | None = None) -> Iterator[Iterator[Started | Finished | Heartbeat]]:
        query = {"boot_id": self.info.boot_id, "after": self._seen if after is None else after}
        with self.http.stream("GET", "/v1/events", params=query) as answer:
            assert answer.status_code == 200, answer.read()
            yield _events(answer)

    def finished(self, count: int) -> dict[str, Outcome]:
        """The next outcomes by job. They are acknowledged when all have arrived."""
        outcomes: dict[str, Outcome] = {}
        with self.stream() as events:
            for event in events:
                if isinstance(event, Finished):
                    outcomes[event.id] = event.outcome
                self._seen = event.n
                if len(outcomes) == count:
                    break
        self.acknowledge(self._seen)
        return outcomes

    def wait_started(self, id: str) -> None:
        with self.stream() as events:
            for event in events:
                if isinstance(event, Started) and event.id == id:
                    return

    def acknowledge(self, n: int) -> None:
        answer = self.http.post("/v1/events/ack", json={"boot_id": self.info.boot_id, "n": n})
        assert answer.status_code == 204, answer.text

    def run(self, case: str, **fields: Any) -> Outcome:
        """Run one job, and return its outcome."""
        job = self.job(case, **fields)
        assert self.post(job) == ["queued"]
        (outcome,) = self.finished(1).values()
        return outcome

    def run_all(self, *cases: str, **fields: Any) -> list[Outcome]:
        """Post cases together, and return their outcomes."""
        jobs = [self.job(case, **fields) for case in cases]
        assert set(self.post(*jobs)) == {"queued"}
        outcomes = self.finished(len(jobs))
        return [outcomes[job["id"]] for job in jobs]

    def below(self) -> list[processes.Process]:
        """All processes below the supervisor."""
        return [
            descendant
            for descendant in processes.descendants([self.pid], processes.snapshot())
            if descendant.alive and descendant.pid != self.pid
        ]

    def zygote(self) -> processes.Process:
        (zygote,) = [process for process in self.below() if process.parent == self.pid]
        return zygote

    def stop(self) -> int:
        self.http.close()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(LIMIT_S)
        finally:
            if self.process.poll() is None:
                self.process.kill()
            self.process.communicate()


def _events(answer: httpx.Response) -> Iterator[Started | Finished | Heartbeat]:
    reader = LineReader(8 << 20)
    for chunk in answer.iter_bytes():
        for line in reader.feed(chunk):
            yield EVENT.validate_json(line)
