"""A coordinator that dies while it imports a bundle has stored nothing of this bundle. The next coordinator imports
it."""

from __future__ import annotations

import asyncio

import asyncpg
import httpx
import pytest

from tests import bundles
from tests.admin import AS_ADMIN
from tests.coordinator_process import CoordinatorProcess

CASES = 4_000
LIMIT_S = 120.0


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A real bundle, repeated under other ids, so large that the import can be interrupted."""
    bundle = bundles.make(tmp_path_factory.mktemp("b") / "b", functions=("hazards.add",), runs=1)
    header, *lines = bundles.lines_of(bundle.read_bytes())
    header["suite"]["cases"] = [
        {"id": f"hazards.add/{number}", "function": "hazards.add", "host_only": None, "tags": []}
        for number in range(CASES)
    ]
    return bundles.sealed(
        [header, *({**lines[number % len(lines)], "case": f"hazards.add/{number}"} for number in range(CASES))]
    )


async def _wait_storing(database: str) -> None:
    """Wait until the import's transaction has begun to store outcomes."""
    connection = await asyncpg.connect(database)
    async with asyncio.timeout(LIMIT_S):
        while not await connection.fetchval(
            "select count(*) from pg_stat_activity where query like '%INSERT INTO outcomes%' "
            "and query like '%done_case%' and pid <> pg_backend_pid() and state in ('active', 'idle in transaction')"
        ):
            pass
    await connection.close()


async def test_kill_9_in_the_middle_of_an_import(database: str, large: bytes) -> None:
    coordinator = CoordinatorProcess(database)
    try:
        base_url, headers = str(coordinator.http.base_url), AS_ADMIN | bundles.HEADERS
        async with httpx.AsyncClient(base_url=base_url, headers=headers, timeout=LIMIT_S) as http:
            importing = asyncio.create_task(http.post(bundles.UPLOAD, content=large))
            await _wait_storing(database)
            coordinator.kill()
            with pytest.raises(httpx.TransportError):
                await importing
        coordinator.start()
        assert coordinator.http.get("/campaigns").json()["campaigns"] == []
        answer = coordinator.http.post(bundles.UPLOAD, headers=bundles.HEADERS, content=large)
        assert answer.status_code == 201, answer.text
        assert answer.json()["counters"]["done"] == CASES
        assert coordinator.http.post(bundles.UPLOAD, headers=bundles.HEADERS, content=large).status_code == 200
        rows = coordinator.outcomes(answer.json()["id"])
        assert len({row["case"] for row in rows}) == CASES
    finally:
        coordinator.stop()
