"""The protocol ``Scheduler`` with another implementation than Docker: real runners as plain processes, and a real
coordinator."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from coordinator.cli.progress import Board
from coordinator.cli.rest_client import Client
from coordinator.cli.rollout import Rollout
from coordinator.errors import FleetError
from coordinator.fleet.inventory import Inventory, find_devices
from coordinator.fleet.scheduler import Capability, Container, Image, Limits, RunnerSpec, Scheduler, require
from tests.admin import ADMIN_TOKEN
from tests.coordinator_process import CoordinatorProcess, free_port
from tests.runner_process import environment
from tests.waiting import LIMIT_S

LIMITS = Limits(memory=1 << 30, cpus=1.0, pids=100, scratch=1 << 20)


class Processes:
    """A scheduler that starts runners as processes of this host, without images, passed devices or a volume."""

    fleet = "main"
    capabilities: frozenset[Capability] = frozenset()
    cpus = 1

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._containers: dict[str, Container] = {}
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    def inventory(self) -> Inventory:
        return find_devices({})

    def images(self) -> Sequence[Image]:
        return []

    def image(self, name: str) -> Image:
        raise FleetError(f"there is no image '{name}': runners are processes")

    def create(self, spec: RunnerSpec, secret_file: Path, url: str | None = None) -> Container:
        url = url or f"http://127.0.0.1:{free_port()}"
        words = ["serve", spec.framework, spec.device, "--port", url.rpartition(":")[2], "--secret-file", secret_file]
        with self._log(spec.target).open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "runners", *words], env=environment(), stdout=log, stderr=subprocess.STDOUT
            )
        id = str(process.pid)
        self.processes[id] = process
        self._containers[id] = Container(id, id, spec.target, url, "running", "none", spec)
        return self._containers[id]

    def list(self, *, usage: bool = False) -> Sequence[Container]:
        ended_ids = {id for id, process in self.processes.items() if process.poll() is not None}
        return [
            replace(container, state="exited" if id in ended_ids else "running")
            for id, container in self._containers.items()
        ]

    def remove(self, container: Container) -> None:
        del self._containers[container.id]
        process = self.processes.pop(container.id)
        process.terminate()
        process.wait(LIMIT_S)

    def logs(self, container: Container, *, follow: bool = False, tail: int | None = None) -> Iterator[bytes]:
        yield self._log(container.target).read_bytes()

    def dissolve(self, *, volume: bool) -> None:
        """Stop the processes, because a fleet of processes uses nothing else."""

    def _log(self, target: str) -> Path:
        return self._folder / f"{target.replace('/', '-')}.log"


class Fleet:
    """Rollouts of one fleet, and the lines that a user reads about them."""

    def __init__(self, processes: Scheduler, client: Client, folder: Path) -> None:
        self._processes = processes
        self._client = client
        self._lines = io.StringIO()
        self._rollout = partial(Rollout, processes, client, folder, Board(self._lines))

    def up(self, *specs: RunnerSpec) -> Sequence[str]:
        """Bring the fleet up. Returns the targets that did not start."""
        return self._rollout().bring_up({spec.target: spec for spec in specs}, LIMIT_S)

    def down(self) -> None:
        assert self._rollout().take_down(self._processes.list()) == ([], None)

    def runners(self) -> Sequence[tuple[int, str]]:
        return [(runner.id, runner.url) for runner in self._client.runners()]

    @property
    def text(self) -> str:
        return self._lines.getvalue()


def spec(device: str = "cpu", image: str = "one") -> RunnerSpec:
    made_from = Image(image, image, image, "hazards", "1.0", (device,))
    return RunnerSpec(target=f"hazards/{device}", framework="hazards", device=device, image=made_from, limits=LIMITS)


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Processes]:
    processes = Processes(tmp_path)
    yield processes
    for container in processes.list():
        processes.remove(container)


@pytest.fixture
def fleet(processes: Processes, database: str, tmp_path: Path) -> Iterator[Fleet]:
    coordinator = CoordinatorProcess(database)
    with Client(coordinator.url, ADMIN_TOKEN) as client:
        yield Fleet(processes, client, tmp_path)
    coordinator.stop()


def test_a_runner_comes_up_is_left_alone_is_replaced_at_its_url_and_taken_down(
    fleet: Fleet, processes: Processes
) -> None:
    assert fleet.up(spec()) == []
    (runner,) = fleet.runners()
    (first,) = processes.list()
    assert "hazards/cpu: runner 1, hazards@1.0/cpu on " in fleet.text

    assert fleet.up(spec()) == []
    assert [container.id for container in processes.list()] == [first.id]

    assert fleet.up(spec(image="two")) == []
    (second,) = processes.list()
    assert second.id != first.id
    assert fleet.runners() == [runner]

    processes.processes[second.id].kill()
    processes.processes[second.id].wait(60)
    assert fleet.up(spec(image="two")) == []
    assert fleet.runners() == [runner]
    assert "it has ended, replacing it" in fleet.text

    fleet.down()
    assert (processes.list(), fleet.runners()) == ([], [])


def test_a_runner_that_cannot_serve_is_reported_with_its_log_and_leaves_nothing(
    fleet: Fleet, processes: Processes
) -> None:
    assert fleet.up(spec("absent"), spec()) == ["hazards/absent"]
    assert "hazards/absent: it has ended; its container was removed" in fleet.text
    assert "no hazard was found on the bus" in fleet.text
    assert [container.target for container in processes.list()] == ["hazards/cpu"]
    assert len(fleet.runners()) == 1


@pytest.mark.parametrize(
    ("capability", "option", "sentence"),
    [
        (Capability.follow_logs, "--follow", "cannot follow a log while it is written: omit --follow"),
        (Capability.remove_volume, "--volumes", "cannot remove a volume: omit --volumes"),
    ],
)
def test_an_option_that_needs_a_capability_is_refused_by_a_scheduler_without_it(
    processes: Processes, capability: Capability, option: str, sentence: str
) -> None:
    with pytest.raises(FleetError, match=f"the scheduler of fleet 'main' {sentence}"):
        require(processes, capability, option)
    processes.capabilities = frozenset({capability})
    require(processes, capability, option)
