"""A Compose project for one test: ``compose.yaml`` and a runner of the hazards, used like a user would."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx

from tests.coordinator_process import free_port
from tests.runner_process import ROOT
from tests.waiting import until

FILES = ("compose.yaml", "tests/containers/compose.yaml")
"""The files of the project. The second file adds the hazards."""
PROJECT = f"portolan-test-{hashlib.sha256(str(ROOT).encode()).hexdigest()[:8]}"
"""The project's name. It contains the path of the checkout, so that tests of two checkouts on one engine do not use the
same containers."""
UP_LIMIT_S = 600
COMMAND_LIMIT_S = 180.0
CAMPAIGN_LIMIT_S = 300.0
PLAIN = ("postgres", "roles", "migrate", "coordinator", "hazards")
"""An image without a framework. It is enough for tests that need no framework."""


class Composed:
    """``with Composed(docker, folder) as stack: stack.up()``. The containers are removed at the end."""

    def __init__(self, docker: list[str], folder: Path, suffix: str = "", files: tuple[str, ...] = FILES) -> None:
        self.docker = docker
        self._files = files
        self.name = PROJECT + suffix
        self.port = free_port()
        self.secrets = folder / "secrets"
        self.url = f"http://127.0.0.1:{self.port}"
        self.http = httpx.Client(base_url=f"{self.url}/api/v1", auth=self._sign, timeout=120.0)
        self.variables = {**os.environ, "PORTOLAN_PORT": str(self.port), "PORTOLAN_SECRETS": str(self.secrets)}

    def __enter__(self) -> Composed:
        make = [sys.executable, "scripts/secret_files.py", "hazards=hazards/cpu"]
        subprocess.run(make, cwd=ROOT, env=self.variables, check=True, capture_output=True)
        # A run that was killed has left its database, whose passwords are not those of the files just made.
        self._remove()
        return self

    def __exit__(self, *_: object) -> None:
        self.http.close()
        self._remove()

    def _remove(self) -> None:
        down = self.compose("down", "--volumes", "--remove-orphans", "--timeout", "20")
        assert down.returncode == 0, down.stderr

    def compose(self, *arguments: str, limit_s: float = COMMAND_LIMIT_S) -> subprocess.CompletedProcess[str]:
        files = [part for file in self._files for part in ("-f", file)]
        return subprocess.run(
            [*self.docker, "compose", "-p", self.name, *files, *arguments],
            cwd=ROOT,
            env=self.variables,
            capture_output=True,
            text=True,
            timeout=limit_s,
            check=False,
        )

    def _sign(self, request: httpx.Request) -> httpx.Request:
        """Sign in with the admin token as soon as its file exists."""
        token = self.secrets / "admin"
        if token.exists():
            request.headers["Authorization"] = f"Bearer {token.read_text().strip()}"
        return request

    def up(self, *services: str) -> None:
        answer = self.compose("up", "--detach", "--wait", *services, limit_s=UP_LIMIT_S)
        assert answer.returncode == 0, answer.stderr + self.compose("logs", "--tail", "20").stdout

    def container(self, service: str) -> str:
        """The container's id. The container must exist."""
        answer = self.compose("ps", "--all", "--quiet", service)
        assert answer.stdout.strip(), (service, answer.stderr)
        return answer.stdout.strip()

    def inspect(self, service: str) -> dict[str, Any]:
        answer = subprocess.run([*self.docker, "inspect", self.container(service)], capture_output=True, check=True)
        (container,) = json.loads(answer.stdout)
        return dict(container)

    def address(self, service: str, network: str = "") -> str:
        """The container's address on the network whose name has this ending."""
        networks = self.inspect(service)["NetworkSettings"]["Networks"]
        (address, *_) = [
            network_settings["IPAddress"] for name, network_settings in networks.items() if name.endswith(network)
        ]
        return str(address)

    def run_in(self, service: str, code: str) -> subprocess.CompletedProcess[str]:
        """Run Python inside a container, as the container's user."""
        return subprocess.run(
            [*self.docker, "exec", self.container(service), "python", "-c", code],
            capture_output=True,
            text=True,
            timeout=COMMAND_LIMIT_S,
            check=False,
        )

    def runner(self, name: str) -> dict[str, Any] | None:
        """The registration with this name, as the coordinator reports it."""
        try:
            answer = self.http.get("/runners")
        except httpx.TransportError:
            return None
        runners = answer.json()["runners"] if answer.is_success else []
        return next((runner for runner in runners if runner["name"] == name), None)

    def wait_online(self, *names: str) -> None:
        for name in names:
            until(lambda name=name: (self.runner(name) or {}).get("state") == "online", f"{name} is online", 120.0)

    def submit(self, **request: Any) -> int:
        answer = self.http.post("/campaigns", json={"timing": "off"} | request)
        assert answer.status_code == 201, answer.text
        return int(answer.json()["id"])

    def campaign(self, campaign: int) -> dict[str, Any]:
        """The campaign's state; {} while the coordinator does not respond."""
        try:
            answer = self.http.get(f"/campaigns/{campaign}")
        except httpx.TransportError:
            return {}
        return dict(answer.json()) if answer.is_success else {}

    def count_done(self, campaign: int) -> int:
        return int(self.campaign(campaign).get("counters", {}).get("done", 0))

    def wait_ended(self, campaign: int) -> dict[str, Any]:
        until(
            lambda: self.campaign(campaign).get("state", "running") != "running",
            "the campaign ended",
            CAMPAIGN_LIMIT_S,
        )
        return self.campaign(campaign)

    def outcomes(self, campaign: int) -> list[dict[str, Any]]:
        answer = self.http.get(f"/campaigns/{campaign}/outcomes", params={"limit": 5000})
        assert answer.status_code == 200, answer.text
        return list(answer.json()["outcomes"])

    def causes(self, campaign: int) -> dict[str, str | None]:
        return {outcome["case"]: outcome["cause"] for outcome in self.outcomes(campaign)}

    def verdicts(self, campaign: int) -> dict[str, str]:
        return {outcome["case"]: outcome["verdict"] for outcome in self.outcomes(campaign)}
