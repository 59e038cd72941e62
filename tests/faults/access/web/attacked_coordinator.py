"""A coordinator with a running campaign, and a bundle that was not imported."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from typing import Any

from playwright.sync_api import StorageState

from tests.coordinator_process import CoordinatorProcess

NAMED = "chart.example"
"""A name that the coordinator's settings list as its own."""


@dataclass(frozen=True)
class AttackedCoordinator:
    coordinator: CoordinatorProcess
    campaign: int
    """The campaign, which runs until it is cancelled."""
    runner: int
    bundle: bytes
    session: StorageState
    """The cookies of an admin who signed in. An attack would use this session."""

    @property
    def base(self) -> str:
        return self.coordinator.url

    @property
    def cookies(self) -> dict[str, str]:
        return {cookie["name"]: cookie["value"] for cookie in self.session["cookies"]}

    def state(self) -> dict[str, Any]:
        """The state that a successful attack would change."""
        http = self.coordinator.http
        return {
            "campaigns": [(row["id"], row["state"]) for row in http.get("/campaigns").json()["campaigns"]],
            "runners": [row["id"] for row in http.get("/runners").json()["runners"]],
        }

    def ask(self, method: str, path: str, body: bytes = b"", **headers: str) -> tuple[int, dict[str, str], str]:
        """Send one request over a new socket, with the session and only these headers."""
        all_headers = {"Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items())}
        all_headers |= {name.replace("_", "-"): value for name, value in headers.items()}
        if body or method not in ("GET", "HEAD"):
            all_headers.setdefault("Content-Length", str(len(body)))
        lines = [f"{method} {path} HTTP/1.0", *(f"{name}: {value}" for name, value in all_headers.items())]
        with socket.create_connection(("127.0.0.1", self.coordinator.port), 60) as connection:
            connection.sendall("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body)
            with connection.makefile("rb") as file:
                head, _, text = file.read().partition(b"\r\n\r\n")
        status, *rest = head.decode("latin-1").split("\r\n")
        answer_headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in rest)}
        return int(status.split()[1]), answer_headers, text.decode(errors="replace")
