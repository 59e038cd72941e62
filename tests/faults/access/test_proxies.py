"""The address of a client comes from its connection, or from a proxy that the settings name, and from no other
header."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from tests.admin import AS_ADMIN
from tests.faults.access.test_bounds_connections import Serve
from tests.portolan_process import Portolan
from tests.waiting import until

ELSEWHERE = {"X-Forwarded-For": "192.0.2.7"}


@pytest.fixture(params=["", "127.0.0.1"], ids=["no proxy", "a proxy"])
def coordinator(new_database: Callable[..., str], request: pytest.FixtureRequest) -> Iterator[Serve]:
    coordinator = Serve(new_database(), PORTOLAN_PROXIES=request.param)
    yield coordinator
    coordinator.stop()


def test_the_audit_has_the_address_of_the_connection(coordinator: Serve) -> None:
    assert httpx.post(f"{coordinator.url}/api/v1/campaigns", json={}, headers=ELSEWHERE).status_code == 401

    def entries() -> list[str]:
        answer = httpx.get(f"{coordinator.url}/api/v1/audit", headers=AS_ADMIN)
        return [entry["address"] for entry in answer.json()["entries"]]

    trusted_proxies = coordinator.variables["PORTOLAN_PROXIES"]
    assert until(entries, "the refusal is recorded") == ["192.0.2.7" if trusted_proxies else "127.0.0.1"]


def test_a_proxy_that_is_no_address_is_refused(tmp_path: Path) -> None:
    portolan = Portolan(
        tmp_path, PORTOLAN_PROXIES="the proxy", PORTOLAN_DATABASE_URL="postgresql://nobody@nowhere/none"
    )
    assert "PORTOLAN_PROXIES has 'the' ('the' does not appear to be an IPv4 or IPv6 network)" in portolan.refused(
        "serve"
    )
