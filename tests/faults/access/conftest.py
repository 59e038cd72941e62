"""One coordinator with access control, and clients of each role."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import httpx
import pytest

from tests.coordinator_process import CoordinatorProcess


@pytest.fixture(scope="module")
def coordinator(new_database: Callable[..., str]) -> Iterator[CoordinatorProcess]:
    coordinator = CoordinatorProcess(new_database())
    yield coordinator
    coordinator.stop()


@pytest.fixture
def caller(coordinator: CoordinatorProcess) -> Iterator[Callable[..., httpx.Client]]:
    """Makes clients with a new token of a role, with a given token, or without a token."""
    clients: list[httpx.Client] = []

    def make(role: str | None = None, *, name: str = "ada", token: str | None = None) -> httpx.Client:
        if role is not None:
            answer = coordinator.http.post("/tokens", json={"name": name, "role": role})
            assert answer.status_code == 201, answer.text
            token = answer.json()["secret"]
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        clients.append(httpx.Client(base_url=f"{coordinator.url}/api/v1", headers=headers, timeout=120.0))
        return clients[-1]

    yield make
    for client in clients:
        client.close()
