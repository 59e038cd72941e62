"""PostgreSQL's disk is full while a coordinator works. The coordinator reports this, still answers reads, and recovers
without help."""

from __future__ import annotations

import asyncio

import httpx

from coordinator.configuration.times import Times
from coordinator.database.embedded import EmbeddedPostgres
from coordinator.migration import upgrade
from tests.coordinator_process import CoordinatorProcess
from tests.small_disk import SmallDisk
from tests.waiting import until


def ready(coordinator: CoordinatorProcess) -> httpx.Response:
    return httpx.get(f"{coordinator.url}/readyz")


def make(coordinator: CoordinatorProcess) -> httpx.Response:
    return coordinator.http.post("/tokens", json={"name": "ann", "role": "viewer"})


def test_a_full_disk_is_told_by_readyz_until_there_is_room(small_disk: SmallDisk) -> None:
    small_disk.remount("size=400m")
    with EmbeddedPostgres(small_disk.path / "postgres") as dsn:
        asyncio.run(upgrade(dsn))
        coordinator = CoordinatorProcess(dsn, times=Times(fault_s=2.0))
        try:
            until(lambda: ready(coordinator).status_code == 200, "the coordinator is ready")
            assert make(coordinator).status_code == 201

            small_disk.fill()
            until(lambda: make(coordinator).status_code == 503, "a token more finds no room")
            answer = ready(coordinator)
            assert answer.status_code == 503
            assert "database's disk" in answer.json()["detail"]
            assert "No space left on device" in answer.json()["detail"]
            assert coordinator.http.get("/campaigns").status_code == 200, "what is there can be read"

            small_disk.make_room()
            until(lambda: make(coordinator).status_code == 201, "there is room again")
            until(lambda: ready(coordinator).status_code == 200, "the coordinator is ready again")
        finally:
            coordinator.stop()
