"""A real swarm of several engines on one machine, and a stack on it, driven as a user would.

``PORTOLAN_SWARM`` is the path of a program that makes the swarm, for there is no portable way to it:

- ``up N [IMAGE…]``: N engines, the first is the manager; each has a copy of these images of this machine's engine
- ``host I``: prints the DOCKER_HOST of engine I, from 1
- ``ip I``: prints the address of engine I, which this machine reaches
- ``kill I``: ends engine I and all that runs on it at once, as a power cut would
- ``down``: ends everything, and leaves nothing behind
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.runner_process import ROOT
from tests.waiting import until

PROGRAM = "PORTOLAN_SWARM"
ENGINES = 3
UP_LIMIT_S = 1_200.0
COMMAND_LIMIT_S = 180.0
COORDINATOR = "portolan/coordinator:latest"


def call(*command: str, limit_s: float = COMMAND_LIMIT_S, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=ROOT,
        env=os.environ | variables,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=limit_s,
        check=False,
    )


def output_of(*command: str, limit_s: float = COMMAND_LIMIT_S, **variables: str) -> str:
    answer = call(*command, limit_s=limit_s, **variables)
    assert answer.returncode == 0, f"{command}: {answer.stdout}{answer.stderr}"
    return answer.stdout.strip()


class Swarm:
    """``with Swarm(images) as swarm``. Engines are numbered from 1."""

    def __init__(self, images: Sequence[str]) -> None:
        self._program = os.environ[PROGRAM]
        self._images = images
        self.alive = set(range(1, ENGINES + 1))

    def __enter__(self) -> Swarm:
        # What a test that was killed left behind is in the way.
        self.down()
        try:
            output_of(self._program, "up", str(ENGINES), *self._images, limit_s=UP_LIMIT_S)
        except BaseException:
            self.down()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.down()

    def down(self) -> None:
        call(self._program, "down", limit_s=UP_LIMIT_S)

    def host(self, engine: int) -> str:
        return output_of(self._program, "host", str(engine))

    def address(self, engine: int) -> str:
        return output_of(self._program, "ip", str(engine))

    def docker(self, engine: int) -> list[str]:
        """The command of the Docker client for this engine."""
        return ["docker", "--host", self.host(engine)]

    def label(self, engine: int, *labels: str) -> None:
        node = output_of(*self.docker(engine), "info", "--format", "{{.Swarm.NodeID}}")
        label_options = [f"--label-add=portolan.{label}=true" for label in labels]
        output_of(*self.docker(1), "node", "update", *label_options, node)

    def kill(self, engine: int) -> None:
        """End an engine. Repeated until it succeeds, because on a busy machine processes may end while the program
        looks for them."""
        until(lambda: call(self._program, "kill", str(engine)).returncode == 0, f"engine {engine} is killed", 120.0)
        assert call(*self.docker(engine), "info").returncode != 0
        self.alive.discard(engine)


@dataclass(frozen=True)
class ContainerLocation:
    """A running container, and the engine on which it runs."""

    engine: int
    docker: list[str]
    container: str


class Stack:
    """``compose.yaml`` and docker/stack.yaml on a swarm, and a container from which a user sends requests."""

    def __init__(self, swarm: Swarm, folder: Path, name: str = "charts") -> None:
        self.swarm = swarm
        self.name = name
        self.secrets = folder / "secrets"
        self.manager = swarm.docker(1)

    def deploy(self, *files: str) -> str:
        """Deploy the stack and return the command's output."""
        variables = {"PORTOLAN_SECRETS": str(self.secrets), "DOCKER_HOST": self.swarm.host(1)}
        output_of(sys.executable, "scripts/secret_files.py", "hazards=hazards/cpu", **variables)
        more = [f"--file={file}" for file in files]
        return output_of(sys.executable, "scripts/stack.py", self.name, *more, **variables)

    def open_console(self) -> None:
        options = ["--network", f"{self.name}_outside", "--env", "PORTOLAN_URL=http://coordinator:8642"]
        options += ["--env", f"PORTOLAN_TOKEN={(self.secrets / 'admin').read_text().strip()}"]
        sleeping = ["--entrypoint", "sleep", COORDINATOR, "infinity"]
        output_of(*self.manager, "run", "--detach", "--rm", "--name", "console", *options, *sleeping)

    def portolan(self, *arguments: str) -> str:
        return output_of(*self.manager, "exec", "console", "python", "-m", "coordinator", *arguments)

    def runners(self) -> dict[str, dict[str, Any]]:
        """The registrations by name; empty until the coordinator responds."""
        answer = call(*self.manager, "exec", "console", "python", "-m", "coordinator", "runner", "list", "--json")
        return {load["name"]: load for load in json.loads(answer.stdout)} if answer.returncode == 0 else {}

    def online(self, name: str) -> bool:
        runner = self.runners().get(name)
        return runner is not None and runner["state"] == "online"

    def submit(self, *options: str) -> int:
        return int(self.portolan("submit", *options))

    def campaign(self, campaign: int) -> dict[str, Any]:
        return dict(json.loads(self.portolan("status", str(campaign), "--json")))

    def has_ended(self, campaign: int) -> bool:
        """Whether the campaign has ended. False while the coordinator does not respond."""
        answer = call(
            *self.manager, "exec", "console", "python", "-m", "coordinator", "status", str(campaign), "--json"
        )
        return answer.returncode == 0 and json.loads(answer.stdout)["state"] != "running"

    def outcomes(self, campaign: int) -> list[dict[str, Any]]:
        return list(json.loads(self.portolan("results", str(campaign), "--format", "json")))

    def places(self, service: str) -> list[ContainerLocation]:
        """The places where the service runs, on engines that are alive."""
        containers = []
        for engine in sorted(self.swarm.alive):
            docker = self.swarm.docker(engine)
            of_service = f"label=com.docker.swarm.service.name={self.name}_{service}"
            ids = output_of(*docker, "ps", "--quiet", "--filter", of_service).split()
            containers += [ContainerLocation(engine, docker, container_id) for container_id in ids]
        return containers

    def place(self, service: str) -> ContainerLocation:
        (only,) = self.places(service)
        return only
