"""``portolan fleet`` on a real engine, with a real coordinator and real runners in containers."""

from __future__ import annotations

import itertools
import json
import os
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.containers.inspection import look_inside, shortcomings
from tests.coordinator_process import CoordinatorProcess, free_port
from tests.portolan_process import COMMAND, Portolan
from tests.runner_process import ROOT
from tests.waiting import until

HAZARDS = "portolan/runner-hazards:test"
UP_WITHIN_S = 180.0
NUMBERS = itertools.count(1)

_HEALTH = (
    "HEALTHCHECK --interval=1s --timeout=2s --start-period=60s --retries=2 "
    'CMD ["python", "-ISc", "import socket; s = socket.create_connection((\'127.0.0.1\', 8790), 1); '
    "s.sendall(b'GET /healthz HTTP/1.0\\\\r\\\\n\\\\r\\\\n'); s.settimeout(1); assert b' 200 ' in s.recv(64)\"]\n"
)


pytestmark = pytest.mark.drawn(3)

Build = Callable[[str, str], str]


@pytest.fixture(scope="session")
def build(docker: list[str]) -> Iterator[Build]:
    """Builds an image from the text of a Dockerfile. The images are removed at the end of the session."""
    tags = []

    def build(name: str, dockerfile: str) -> str:
        tag = f"portolan/fleet-{name}:test"
        answer = subprocess.run(
            [*docker, "build", "-q", "-t", tag, "-"], input=dockerfile, capture_output=True, text=True, check=False
        )
        assert answer.returncode == 0, answer.stderr
        tags.append(tag)
        return tag

    yield build
    subprocess.run([*docker, "image", "rm", *tags], capture_output=True, check=False)


@pytest.fixture(scope="session")
def hazards(docker: list[str]) -> str:
    """The image of the hazards, built if it does not exist."""
    if subprocess.run([*docker, "image", "inspect", HAZARDS], capture_output=True, check=False).returncode:
        for command in (
            [*docker, "buildx", "bake", "-f", "docker/bake.hcl", "runner"],
            [*docker, "build", "-t", HAZARDS, "-f", "tests/containers/hazards.Dockerfile", "tests/hazards"],
        ):
            subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return HAZARDS


@pytest.fixture(scope="session")
def quick(build: Build, hazards: str) -> str:
    """The image of the hazards, with a health check every second, so that a test need not wait a minute until the
    engine notices a failure."""
    return build("quick", f"FROM {hazards}\n{_HEALTH}")


class Fleet:
    """One fleet with its own coordinator, and the commands of a user on the host."""

    def __init__(self, docker: Sequence[str], directory: Path, coordinator: CoordinatorProcess) -> None:
        self.name = f"test-{os.getpid()}-{next(NUMBERS)}"
        self.docker = docker
        self.coordinator = coordinator
        self.first_port = free_port()
        self.url = str(coordinator.http.base_url).removesuffix("/api/v1/")
        self.portolan = Portolan(directory, PORTOLAN_URL=self.url)

    def call(self, command: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self.portolan.call("fleet", command, "--name", self.name, *arguments)

    def up_words(self, image: str, *more: str) -> list[str]:
        return ["--image", f"hazards/cpu={image}", "--first-port", str(self.first_port), *more]

    def up(self, image: str, *more: str) -> str:
        answer = self.call("up", *self.up_words(image, *more))
        assert answer.returncode == 0, answer.stderr
        return answer.stdout + answer.stderr

    def refusal(self, command: str, *arguments: str) -> str:
        return self.portolan.refused("fleet", command, "--name", self.name, *arguments)

    def status(self) -> list[dict[str, Any]]:
        answer = self.call("status", "--json")
        assert answer.returncode == 0, answer.stderr
        return list(json.loads(answer.stdout))

    def one(self) -> dict[str, Any]:
        (row,) = self.status()
        return row

    def runners(self) -> list[dict[str, Any]]:
        return [
            runner for runner in self.coordinator.http.get("/runners").json()["runners"] if runner["state"] != "removed"
        ]

    def containers(self) -> list[str]:
        """The ids of the containers in any state."""
        return self.ask("ps", "-aq", "--no-trunc", "--filter", f"label=org.portolan.fleet={self.name}").split()

    def ask(self, *words: str) -> str:
        return subprocess.run([*self.docker, *words], capture_output=True, text=True, check=True).stdout

    def inspect(self, container: str, path: str) -> str:
        return self.ask("inspect", "--format", f"{{{{{path}}}}}", container).strip()

    def background(self, command: str, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*COMMAND, "fleet", command, "--name", self.name, *arguments],
            env=self.portolan.variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def wipe(self) -> None:
        for container in self.containers():
            subprocess.run([*self.docker, "rm", "-f", container], capture_output=True, check=False)
        for kind, what in (("network", f"portolan-{self.name}"), ("volume", f"portolan-{self.name}-timing")):
            subprocess.run([*self.docker, kind, "rm", what], capture_output=True, check=False)


@pytest.fixture
def fleet(docker: list[str], place: Path, database: str) -> Iterator[Fleet]:
    coordinator = CoordinatorProcess(database)
    fleet = Fleet(docker, place / "data", coordinator)
    yield fleet
    fleet.wipe()
    coordinator.stop()


def test_up_puts_a_hardened_runner_on_the_chart_that_charts(fleet: Fleet, hazards: str) -> None:
    output = fleet.up(hazards)

    row = fleet.one()
    assert (row["state"], row["restarts"], row["runner_state"]) == ("running", 0, "online"), output
    assert row["memory_bytes"] > 0
    inside = look_inside(fleet.docker, row["container"], "1.1.1.1:443", "172.17.0.1:8642")
    # Its network is not an internal one, which would publish no port; but nothing answers beyond it.
    assert shortcomings(inside) == ["there is a way out"]
    assert fleet.inspect(row["container"], '(index (index .NetworkSettings.Ports "8790/tcp") 0).HostIp') == "127.0.0.1"
    assert inside.is_mounted("/var/lib/portolan-timing")
    assert len(inside.secrets) == 1

    (runner,) = fleet.runners()
    assert runner["fingerprint"]["image"] == fleet.ask("image", "inspect", "--format", "{{.Id}}", hazards).strip()
    campaign = fleet.coordinator.submit("hazards.add", timing="steady")
    assert fleet.coordinator.wait_ended(campaign)["counters"]["passed"] > 0


def test_up_again_changes_nothing_and_another_limit_replaces_the_container_alone(fleet: Fleet, quick: str) -> None:
    fleet.up(quick)
    (container,) = fleet.containers()
    (runner,) = fleet.runners()

    fleet.up(quick)
    assert fleet.containers() == [container]
    assert [row["id"] for row in fleet.runners()] == [runner["id"]]

    assert "replacing it" in fleet.up(quick, "--memory", "2G", "--pids", "300")
    (replacement,) = fleet.containers()
    assert replacement != container
    assert fleet.inspect(replacement, ".HostConfig.Memory") == str(2 << 30)
    assert fleet.inspect(replacement, ".HostConfig.PidsLimit") == "300"
    assert fleet.inspect(replacement, ".HostConfig.Dns") == "[192.0.2.1]"
    assert [(row["id"], row["url"]) for row in fleet.runners()] == [(runner["id"], runner["url"])]


def test_each_runner_has_a_secret_of_its_own_that_no_other_user_of_the_host_can_read(fleet: Fleet, quick: str) -> None:
    fleet.up(quick)
    (secret,) = (fleet.portolan.directory / "fleet").rglob("secret")
    assert secret.parent.stat().st_mode & 0o077 == 0
    assert secret.read_text().strip() not in json.dumps(json.loads(fleet.ask("inspect", fleet.containers()[0])))


def test_down_takes_the_runner_off_the_chart_and_leaves_nothing_but_the_volume(fleet: Fleet, quick: str) -> None:
    fleet.up(quick)
    answer = fleet.call("down")
    assert answer.returncode == 0, answer.stderr
    assert (fleet.containers(), fleet.runners(), fleet.status()) == ([], [], [])
    assert f"portolan-{fleet.name}" not in fleet.ask("network", "ls", "--format", "{{.Name}}").split()
    volumes = ["volume", "ls", "--format", "{{.Name}}"]
    assert f"portolan-{fleet.name}-timing" in fleet.ask(*volumes).split()
    assert not list((fleet.portolan.directory / "fleet").rglob("secret"))

    assert fleet.call("down", "--volumes").returncode == 0
    assert f"portolan-{fleet.name}-timing" not in fleet.ask(*volumes).split()


def test_down_ends_the_containers_of_a_coordinator_that_is_gone(fleet: Fleet, quick: str) -> None:
    fleet.up(quick)
    fleet.coordinator.kill()
    answer = fleet.call("down")
    assert answer.returncode == 2
    assert "the coordinator still lists the runners" in answer.stderr
    assert fleet.containers() == []


def test_a_runner_that_dies_is_started_again_and_found_again_without_any_help(fleet: Fleet, quick: str) -> None:
    fleet.up(quick)
    (runner,) = fleet.runners()
    (container,) = fleet.containers()
    campaign = fleet.coordinator.submit("hazards.nap", runs=20)
    fleet.coordinator.wait_done(campaign, 1)
    began = fleet.inspect(container, ".State.StartedAt")
    os.kill(int(fleet.inspect(container, ".State.Pid")), signal.SIGKILL)
    counters = fleet.coordinator.wait_ended(campaign)["counters"]
    assert counters["passed"] == counters["total"] > 0
    assert fleet.inspect(container, ".State.StartedAt") != began
    assert [(row["id"], row["state"]) for row in fleet.runners()] == [(runner["id"], "online")]
    assert fleet.one()["restarts"] == 1
    log = fleet.call("logs", "hazards/cpu").stdout
    assert [json.loads(line)["framework"] for line in log.splitlines()] == ["hazards", "hazards"]


def test_an_unhealthy_runner_is_replaced_by_the_next_call(fleet: Fleet, quick: str) -> None:
    fleet.up(quick)
    (runner,) = fleet.runners()
    (container,) = fleet.containers()
    os.kill(int(fleet.inspect(container, ".State.Pid")), signal.SIGSTOP)
    until(lambda: fleet.one()["health"] == "unhealthy", "it is unhealthy", UP_WITHIN_S)
    assert "it is unhealthy, replacing it" in fleet.up(quick)
    (replacement,) = fleet.containers()
    assert replacement != container
    assert [(row["id"], row["url"]) for row in fleet.runners()] == [(runner["id"], runner["url"])]


def _shim(pid: int) -> int:
    """The process between engine and container. While it is stopped, the engine cannot end the container."""
    return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])


def test_a_container_that_cannot_be_killed_is_reported_and_removed_once_it_can(fleet: Fleet, quick: str) -> None:
    fleet.up(quick)
    pid = int(fleet.inspect(fleet.containers()[0], ".State.Pid"))
    shim = _shim(pid)
    os.kill(pid, signal.SIGSTOP)
    os.kill(shim, signal.SIGSTOP)
    try:
        answer = fleet.call("down")
        assert answer.returncode == 2
        assert "1 container could not be stopped: portolan-" in answer.stderr
        assert "restart the Docker Engine or the host" in answer.stderr
        assert fleet.runners() == []
    finally:
        os.kill(shim, signal.SIGCONT)
    assert fleet.call("down").returncode == 0
    assert fleet.containers() == []


def test_a_container_that_never_gets_healthy_is_told_with_its_log_and_the_others_go_on(
    fleet: Fleet, build: Build, quick: str
) -> None:
    absent = build("absent", f"FROM {quick}\nLABEL org.portolan.device=absent\n")
    answer = fleet.call("up", *fleet.up_words(quick), "--image", f"hazards/absent={absent}")
    assert answer.returncode == 2
    assert "hazards/absent: it exits as soon as it starts" in answer.stderr
    assert "no hazard was found on the bus" in answer.stderr
    assert answer.stderr.splitlines()[-1].startswith("portolan: 1 of 2 targets did not start (hazards/absent): ")
    assert [runner["target"] for runner in fleet.runners()] == ["hazards@1.0/cpu"]
    assert [(row["target"], row["state"]) for row in fleet.status()] == [("hazards/cpu", "running")]


def test_an_image_of_another_protocol_is_refused_and_its_container_removed_again(
    fleet: Fleet, build: Build, quick: str
) -> None:
    other = build(
        "other",
        f"FROM {quick}\nUSER root\nRUN sed -i 's/^PROTOCOL_VERSION = .*/PROTOCOL_VERSION = 99/' "
        "/opt/portolan/protocol/__init__.py && rm -rf /opt/portolan/protocol/__pycache__\nUSER portolan\n",
    )
    answer = fleet.call("up", *fleet.up_words(other))
    assert answer.returncode == 2
    assert "speaks protocol 99" in answer.stderr
    assert "its container was removed" in answer.stderr
    assert (fleet.containers(), fleet.runners()) == ([], [])


def test_a_port_that_another_program_has_is_passed_over_and_left_when_it_is_lost(fleet: Fleet, quick: str) -> None:
    with socket.create_server(("127.0.0.1", fleet.first_port)):
        fleet.up(quick)
    (runner,) = fleet.runners()
    port = int(runner["url"].rsplit(":", 1)[1])
    assert port != fleet.first_port

    fleet.ask("stop", *fleet.containers())
    with socket.create_server(("127.0.0.1", port)):
        assert "taking another" in fleet.up(quick)
        (runner_elsewhere,) = fleet.runners()
        assert runner_elsewhere["url"] != runner["url"]
        assert len(fleet.containers()) == 1


def test_two_calls_at_the_same_time_make_one_fleet(fleet: Fleet, quick: str) -> None:
    both = [fleet.background("up", *fleet.up_words(quick)) for _ in range(2)]
    outputs = [process.communicate(timeout=UP_WITHIN_S)[0] for process in both]
    assert [process.returncode for process in both] == [0, 0], outputs
    assert len(fleet.containers()) == 1
    assert len(fleet.runners()) == 1


def test_a_call_that_is_killed_in_the_middle_is_healed_by_the_next(fleet: Fleet, quick: str) -> None:
    first = fleet.background("up", *fleet.up_words(quick))
    until(fleet.containers, "a container is made", UP_WITHIN_S)
    first.kill()
    first.communicate()
    fleet.up(quick)
    assert len(fleet.containers()) == 1
    assert [runner["state"] for runner in fleet.runners()] == ["online"]


def test_bad_input_is_one_line_and_starts_nothing(fleet: Fleet, hazards: str, build: Build) -> None:
    bare = build("bare", "FROM scratch\nLABEL a=b\n")
    for arguments, words in (
        (["--targets", "torch"], "write framework/device"),
        (["--targets", "hazard/cpu"], "did you mean hazards/cpu?"),
        (["--targets", "hazards@9/cpu"], "did you mean hazards@1.0/cpu?"),
        (["--image", "hazards/cpu=portolan/nothing:here"], "there is no image 'portolan/nothing:here'"),
        (["--image", f"hazards/cpu={bare}"], "is not an image of a runner"),
        (["--image", f"hazards/broken={hazards}"], "does not serve hazards/broken"),
        (["--image", "hazards/cpu"], "write TARGET=IMAGE"),
        (["--targets", "hazards/cpu", "--memory", "lots"], "is not a size"),
        (["--targets", "hazards/cpu", "--url", "http://127.0.0.1:9"], "no coordinator answers"),
    ):
        assert words in fleet.refusal("up", *arguments)
    assert "not a name for a fleet" in fleet.portolan.refused("fleet", "status", "--name", "A b")
    for command in ("logs", "down"):
        assert "has no container of torch/cpu; `portolan fleet up` starts" in fleet.refusal(command, "torch/cpu")
    assert fleet.containers() == []


def test_a_token_that_may_not_register_runners_is_told_and_starts_nothing(fleet: Fleet, hazards: str) -> None:
    answer = fleet.coordinator.http.post("/tokens", json={"name": "ada", "role": "submitter"})
    fleet.portolan.variables["PORTOLAN_TOKEN"] = answer.json()["secret"]
    assert "ada may not register runners at" in fleet.refusal("up", *fleet.up_words(hazards))
    del fleet.portolan.variables["PORTOLAN_TOKEN"]
    assert "token" in fleet.refusal("up", *fleet.up_words(hazards))
    assert fleet.containers() == []


def test_an_engine_that_does_not_answer_is_told(fleet: Fleet, place: Path) -> None:
    fleet.portolan.variables["DOCKER_HOST"] = f"unix://{place}/nothing.sock"
    assert "no Docker Engine answers" in fleet.refusal("status")


def test_an_engine_that_this_user_may_not_use_is_told(fleet: Fleet, place: Path) -> None:
    path = place / "docker.sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        path.chmod(0o000)
        fleet.portolan.variables["DOCKER_HOST"] = f"unix://{path}"
        # Root may use any socket; without this one capability it is as anybody else.
        drop_capabilities = ["setpriv", "--bounding-set=-dac_override", "--inh-caps=-dac_override"]
        answer = subprocess.run(
            [*(drop_capabilities if os.geteuid() == 0 else []), *COMMAND, "fleet", "status", "--name", fleet.name],
            env=fleet.portolan.variables,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
    assert (answer.returncode, answer.stdout) == (2, "")
    assert "may not use the Docker Engine's socket" in answer.stderr


def test_a_device_that_vanished_is_told_and_leaves_no_container(fleet: Fleet, quick: str, place: Path) -> None:
    from coordinator.fleet.docker import DockerEngine, EngineError
    from coordinator.fleet.inventory import DeviceAccess
    from coordinator.fleet.scheduler import Limits, RunnerSpec

    secret = place / "secret"
    secret.write_text("abc")
    with DockerEngine(fleet.name, fleet.first_port) as engine:
        spec = RunnerSpec(
            target="hazards/cpu",
            framework="hazards",
            device="cpu",
            image=engine.image(quick),
            limits=Limits(1 << 30, 1.0, 100, 1 << 20),
            access=DeviceAccess(paths=("/dev/portolan-vanished",)),
        )
        with pytest.raises(EngineError, match="its device is not available"):
            engine.create(spec, secret)
    assert fleet.containers() == []
